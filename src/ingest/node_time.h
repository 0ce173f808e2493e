/* SPDX-License-Identifier: Apache-2.0
 * node_time.h - times of day as monitors write them. */
#ifndef HU_INGEST_NODE_TIME_H
#define HU_INGEST_NODE_TIME_H

#include <stdint.h>

#include "base/str.h"

/*
 * Unix time in ns of "2024/05/01 12:00:00.123", "2025-09-08T17:26:50+08:00", "20240501 12:00:00", "1795000000.25", and of
 * "Fri Jul  3 22:11:09 2026", also with UTC before the year.  One that names no zone is read in that of this machine (TZ).
 * 0: it is none.
 */
int64_t hu_node_time(hu_str s);

#endif
