/* SPDX-License-Identifier: Apache-2.0
 * log_json.h - what tools whose lines a log has write as JSON, too: DeepSpeed's autotuner, NCCL Inspector, nccl-tests. */
#ifndef HU_INGEST_LOG_JSON_H
#define HU_INGEST_LOG_JSON_H

#include "base/input.h"
#include "trace/step_log.h"

/* Is it a file of one of them, by its beginning? */
bool hu_log_json_probe(hu_str head);

/* Adds such a file to *out; texts live in `arena`.  Returns 0 or a negative code. */
int hu_log_json_read(hu_input *in, hu_arena *arena, hu_step_log *out, hu_error *err);

#endif
