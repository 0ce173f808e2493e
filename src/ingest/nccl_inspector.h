/* SPDX-License-Identifier: Apache-2.0
 * nccl_inspector.h - what NCCL's Inspector plugin wrote: one file of a process (docs/formats/nccl-inspector.md). */
#ifndef HU_INGEST_NCCL_INSPECTOR_H
#define HU_INGEST_NCCL_INSPECTOR_H

#include "base/input.h"
#include "trace/step_log.h"

/* Does it begin like one? */
bool hu_inspector_probe(hu_str head);

/* Adds an open input to *out; *n_lines counts its records.  Returns 0, HU_ENOMEM, HU_ELIMIT or HU_EIO. */
int hu_inspector_read(hu_input *in, hu_arena *arena, hu_log_inspector *out, uint64_t *n_lines, hu_error *err);

#endif
