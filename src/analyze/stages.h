/* SPDX-License-Identifier: Apache-2.0
 * stages.h - sends and receives: a pipeline of stages or a ring, micro-batches, and the bubble. */
#ifndef HU_ANALYZE_STAGES_H
#define HU_ANALYZE_STAGES_H

#include "analyze/parallel_rules.h"

/* Of one group's sends and receives. */
typedef struct {
    hu_judgement judgement;    /* PP, CP or unknown */
    int64_t      stages;       /* -1 unknown */
    int64_t      microbatches; /* in a step; times the chunks of a rank, where stages are interleaved; -1 unknown */
    const char  *stage;        /* "first", "middle", "last"; "" unknown */
} hu_stages;

/* `calls` are the group's. */
void hu_stages_judge(const hu_traffic_call *calls, size_t n, const hu_traffic_group *group, int64_t rank,
                     const hu_parallel_traits *traits, hu_stages *out);

/*
 * Share of the forward and backward part of the steps in which the rank neither computes nor communicates with others
 * than its neighbours, 0..1; NaN where there is nothing to measure.  HU_ENOMEM, else 0.
 */
int hu_stages_bubble(const hu_ask *ask, const hu_phase_spans *spans, const hu_traffic *traffic, double *share,
                     hu_error *err);

#endif
