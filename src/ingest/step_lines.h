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

/* The next "name: milliseconds" of a line with "time (ms) |"; *at goes on behind it.  False: no more. */
bool hu_step_part(hu_str line, size_t *at, hu_str *name, int64_t *ns);

/* Where the parts of a "time (ms)" line begin; 0: it is none. */
size_t hu_step_parts(hu_str line);

/* The number behind a key as a word of its own, "key: 1,234.5", "key=3"; false: none. */
bool hu_line_number(hu_str line, const char *key, double *out);

/* The same, where quotes may be around key and number. */
bool hu_line_quoted(hu_str line, const char *key, double *out);

/* A number that a text begins with, behind blanks: the bytes that it takes; 0: none. */
size_t hu_line_number_at(hu_str text, double *out);

/* A whole number behind "step", "iter" …; negative: none. */
int64_t hu_line_iteration(hu_str line);

/* It tells of an evaluation, a checkpoint …: no step of training. */
bool hu_line_is_of_something_else(hu_str line);

/* The next "timing_s/NAME:SECONDS" of a line but that of the step; *at goes on behind it.  False: no more. */
bool hu_line_timing(hu_str line, size_t *at, hu_str *name, double *seconds);

/* The same as seconds, by the unit behind it; *is_bare: there is none, and *out is the number. */
bool hu_line_seconds(hu_str line, const char *key, double *out, bool *is_bare);

/* The epoch that a line names; negative: none. */
int64_t hu_line_epoch(hu_str line);

/* The rank that a launcher's prefix names: "53: ", "[rank3]"; negative: none. */
int64_t hu_line_rank(hu_str line);

/* A number that ends at `end` of the line as seconds, the same way.  NaN: what sticks to it makes it no time. */
double hu_line_time(hu_str line, double number, size_t end, bool *is_bare);

/* The seconds of a unit, "ms", "seconds"; NaN: it is none. */
double hu_line_unit(hu_str word);

/* What stands behind a text in the line; empty where it is not there. */
hu_str hu_line_behind(hu_str line, const char *text);

#endif
