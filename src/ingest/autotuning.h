/* SPDX-License-Identifier: Apache-2.0
 * autotuning.h - files that DeepSpeed's autotuner leaves (docs/formats/step-log.md). */
#ifndef HU_INGEST_AUTOTUNING_H
#define HU_INGEST_AUTOTUNING_H

#include "base/input.h"
#include "trace/step_log.h"

/* exp.json, ds_config.json with "autotuning", metrics.json, model_info.json, by what is in them. */
bool hu_autotuning_probe(hu_str head);

/* Adds such a file; those of one directory are one experiment.  Returns 0 or a negative code. */
int hu_autotuning_read(hu_input *in, hu_arena *arena, hu_log_tuning *out, hu_error *err);

/* A row of summary.txt, also in other texts.  `is_in_table`: false at the beginning of each file.  False: no memory. */
bool hu_autotuning_line(bool *is_in_table, hu_str line, hu_arena *arena, hu_log_tuning *out);

#endif
