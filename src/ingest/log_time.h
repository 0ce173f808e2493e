/* SPDX-License-Identifier: Apache-2.0
 * log_time.h - the time of day that a line of a log begins with. */
#ifndef HU_INGEST_LOG_TIME_H
#define HU_INGEST_LOG_TIME_H

#include <stdint.h>

#include "base/str.h"

/*
 * Unix time in ns of "2023-11-29 08:50:46,232", "2023/11/29T08:50:46.232Z", "…+08:00" near the beginning of a line, where
 * launchers may have put a prefix.  *has_zone: it names one; else it is read as if it were UTC.  0: there is none.
 */
int64_t hu_log_time(hu_str line, bool *has_zone);

/* The same, where it is not UTC but the time of this machine's zone (TZ). */
int64_t hu_log_time_here(int64_t ns);

#endif
