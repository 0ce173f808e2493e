/* SPDX-License-Identifier: Apache-2.0
 * oom_lines.h - lines of PyTorch that GPU memory ran out. */
#ifndef HU_INGEST_OOM_LINES_H
#define HU_INGEST_OOM_LINES_H

#include "trace/step_log.h"

/* False: no memory. */
bool hu_oom_line(hu_str line, uint64_t number, hu_arena *arena, hu_log_words *oom);

#endif
