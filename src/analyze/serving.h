/* SPDX-License-Identifier: Apache-2.0
 * serving.h - passes of a serving engine by what they do: requests and tokens, the GPU's gap before each, graph replays. */
#ifndef HU_ANALYZE_SERVING_H
#define HU_ANALYZE_SERVING_H

#include "analyze/ask.h"

/* What the name of a pass says of its batch; -1 where it does not. */
typedef struct {
    int64_t prompts, prompt_tokens; /* requests whose prompt is computed, and tokens of them in this pass */
    int64_t sequences, tokens;      /* requests that generate, and tokens that they compute */
    int64_t context_tokens;         /* in the KV cache, over all requests that generate */
} hu_batch;

/* A sum over the passes that say it. */
typedef struct {
    int64_t sum, passes;
} hu_said_sum;

/* Counted passes of one phase. */
typedef struct {
    uint8_t     phase; /* hu_engine_phase */
    int64_t     passes;
    double      period_ns; /* sum: from the end of the pass before to its own */
    hu_said_sum prompts, prompt_tokens, sequences, tokens, context_tokens;

    /* Between the last GPU operation of the pass before and the first of this one; not behind a pause. */
    int64_t gaps, gap_ns;  /* how many are known, and their sum */
    double  gap_period_ns; /* the periods of those */
    int64_t host_gap_ns;   /* of the same: from the end of the annotation before to the beginning of its own */
    int64_t pauses;        /* passes before which the engine had nothing to do for longer than the pass before took */

    int64_t kernels, kernel_ns;
    int64_t graph_kernels, graph_kernel_ns; /* of those launched by a graph */
    int64_t graph_passes;                   /* passes with such a launch */
    int64_t launches;                       /* calls that launched its kernels */
} hu_serving_class;

typedef struct {
    hu_serving_class *at; /* in the order of hu_engine_phase, without the empty ones; in the arena of `ask` */
    size_t            n;  /* 0: no steps of a serving engine with a phase */
} hu_serving;

/* Returns 0 or HU_ENOMEM. */
int hu_serving_measure(const hu_ask *ask, hu_serving *out, hu_error *err);

const char *hu_engine_phase_word(uint8_t phase); /* "prefill" */

/* Means; NaN where nothing says it. */
double hu_said_mean(const hu_said_sum *s);
double hu_serving_tokens_per_s(const hu_serving_class *c); /* that are generated */
double hu_serving_gap_pct(const hu_serving_class *c);      /* of the periods */
double hu_serving_graph_pct(const hu_serving_class *c);    /* of kernel time */

#endif
