/* SPDX-License-Identifier: Apache-2.0
 * nccl_lines.h - what one line of NCCL_DEBUG=INFO says of transports, devices, settings and trouble. */
#ifndef HU_INGEST_NCCL_LINES_H
#define HU_INGEST_NCCL_LINES_H

#include "trace/step_log.h"

/* Adds the line, where it is one of NCCL's.  False: no memory. */
bool hu_nccl_line(hu_str line, uint64_t number, hu_arena *arena, hu_log_nccl *out);

#endif
