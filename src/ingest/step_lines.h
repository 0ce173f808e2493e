/* SPDX-License-Identifier: Apache-2.0
 * step_lines.h - what one line of a log says of a step, by the forms in which programs print it. */
#ifndef HU_INGEST_STEP_LINES_H
#define HU_INGEST_STEP_LINES_H

#include "trace/step_log.h"

typedef enum {
    HU_LINE_NONE,
    HU_LINE_MEGATRON,  /* " iteration  10/ 100 | … elapsed time per iteration (ms): 942.0 | …": since the line before */
    HU_LINE_PIPELINE,  /* DeepSpeed's pipeline: "steps: 10 loss: 2.1 iter time (s): 0.754 samples/sec: 42.4" */
    HU_LINE_DEEPSPEED, /* "global_step=5, … CurrSamplesPerSec=2553.4": a rate without a time */
    HU_LINE_STEP,      /* of others: a number behind "step" or "iter", and a time */
} hu_line_kind;

/* Fills *step but for covers, line and run.  A time without a unit is its number times HU_LOG_BARE. */
hu_line_kind hu_step_line(hu_str line, hu_log_step *step);

/* A whole number behind "step", "iter" …; negative: none. */
int64_t hu_line_iteration(hu_str line);

/* It tells of an evaluation, a checkpoint …: no step of training. */
bool hu_line_is_of_something_else(hu_str line);

/* The time behind a key, by the unit behind it; *is_bare: there is none, and *out is the number.  False: no time. */
bool hu_line_seconds(hu_str line, const char *key, double *out, bool *is_bare);

/* The epoch that a line names; negative: none. */
int64_t hu_line_epoch(hu_str line);

/* The rank that a launcher's prefix names: "53: ", "[rank3]"; negative: none. */
int64_t hu_line_rank(hu_str line);

#endif
