/* SPDX-License-Identifier: Apache-2.0
 * watchdog_lines.h - lines of ProcessGroupNCCL's watchdog (docs/formats/step-log.md). */
#ifndef HU_INGEST_WATCHDOG_LINES_H
#define HU_INGEST_WATCHDOG_LINES_H

#include "trace/step_log.h"

/* Adds what line `number` says to *out, in the arena; *is_taken: it is one of the watchdog's.  False: no memory. */
bool hu_watchdog_line(hu_str line, uint64_t number, hu_arena *arena, hu_log_timeouts *out, bool *is_taken);

#endif
