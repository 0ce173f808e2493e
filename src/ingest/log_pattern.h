/* SPDX-License-Identifier: Apache-2.0
 * log_pattern.h - suggests a pattern for a log that no known form fits, after trying it on that log. */
#ifndef HU_INGEST_LOG_PATTERN_H
#define HU_INGEST_LOG_PATTERN_H

#include "base/str.h"

/* A value for --pattern that matches steps and their times, with a unit, in the beginning of a log; NULL: none does. */
const char *hu_log_pattern_for(hu_str head);

#endif
