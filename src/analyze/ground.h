/* SPDX-License-Identifier: Apache-2.0
 * ground.h - what the digest and the graph of one trace start from: prepared once, and then only read, by any thread. */
#ifndef HU_ANALYZE_GROUND_H
#define HU_ANALYZE_GROUND_H

#include "analyze/phases.h"

typedef struct {
    hu_ask         ask; /* its `arena` and `scratch` are NULL: whoever asks brings its own */
    hu_steps       steps;
    hu_phase_spans phases;
    hu_arena      *arena;
} hu_ground;

/* `range` may be NULL.  The trace must outlive it.  NULL on failure: HU_ENOMEM, or HU_EUSAGE without a step in the range. */
hu_ground *hu_ground_new(const hu_trace *trace, const hu_step_range *range, hu_error *err);

void hu_ground_free(hu_ground *g);

#endif
