/* SPDX-License-Identifier: Apache-2.0
 * log_pattern.h - a pattern for a log that no known form fits: tried before it is told. */
#ifndef HU_INGEST_LOG_PATTERN_H
#define HU_INGEST_LOG_PATTERN_H

#include "base/str.h"

/* One for --pattern that finds steps in the beginning of a log, with times whose unit is told; NULL: none is known to. */
const char *hu_log_pattern_for(hu_str head);

#endif
