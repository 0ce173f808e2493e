/* SPDX-License-Identifier: Apache-2.0
 * pattern_lines.h - what the user's pattern (--pattern) finds in a line of a log: a step and its time. */
#ifndef HU_INGEST_PATTERN_LINES_H
#define HU_INGEST_PATTERN_LINES_H

#include <regex.h>

#include "trace/step_log.h"

/*
 * Groups of `pattern` are number, time and, if there, unit; `line` ends with \0.  Fills *step but for line, at_ns and run; a
 * time without a unit is its number times HU_LOG_BARE.  False: the line is none of a step, or tells no time.
 */
bool hu_pattern_line(const regex_t *pattern, hu_str line, hu_log_step *step);

#endif
