/* SPDX-License-Identifier: Apache-2.0
 * stall_lines.h - lines of PyTorch about processes that wait for one another in vain. */
#ifndef HU_INGEST_STALL_LINES_H
#define HU_INGEST_STALL_LINES_H

#include "trace/step_log.h"

/* Adds to those from `first` on, which are of the same file.  False: no memory. */
bool hu_stall_line(hu_str line, uint64_t number, size_t first, hu_arena *arena, hu_log_stalls *out);

#endif
