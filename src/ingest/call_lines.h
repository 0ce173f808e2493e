/* SPDX-License-Identifier: Apache-2.0
 * call_lines.h - which collectives each rank called, by lines of NCCL_DEBUG_SUBSYS=COLL. */
#ifndef HU_INGEST_CALL_LINES_H
#define HU_INGEST_CALL_LINES_H

#include "trace/step_log.h"

/* False: no memory. */
bool hu_call_line(hu_str line, uint64_t number, hu_arena *arena, hu_log_calls *out);

#endif
