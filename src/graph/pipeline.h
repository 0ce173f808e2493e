/* SPDX-License-Identifier: Apache-2.0
 * pipeline.h - the steps of a hybrid-parallel job as graphs of operations that wait for each other, and their replay. */
#ifndef HU_GRAPH_PIPELINE_H
#define HU_GRAPH_PIPELINE_H

#include "trace/operations.h"

typedef struct {
    uint32_t dp, stage;
    int32_t  rank; /* -1: not told */
} hu_pipeline_worker;

/*
 * One step.  Operations are numbered so that each comes behind all that it waits for; those that meet (the two ends of a
 * transfer, the members of a collective) have consecutive numbers and are one group.  Replay:
 *
 *     start(o) = max over what o waits for of end + launch delay of o          nothing to wait for: the step's beginning
 *     end(o)   = max over o's group of start + cost of o
 */
typedef struct {
    int64_t         step;
    uint32_t        n, n_groups;
    const uint32_t *group_first;        /* n_groups + 1: where each group's operations begin */
    const uint32_t *wait_first, *waits; /* n + 1, and what each operation waits for */
    const uint32_t *worker, *row;       /* of each operation: whose it is, where in the table */
    const uint8_t  *kind;
    const bool     *is_frozen;   /* nobody knows what was at its other end: stays as it was */
    const bool     *is_first;    /* the first thing that its worker waits for in the step */
    double         *cost_ns;     /* duration; of what meets: from the last arrival on (below) */
    double         *delay_ns;    /* from when it could have begun to when it did */
    double         *scratch;     /* 4 n, for replays: one at a time */
    double          measured_ns; /* from the first start to the last end */
    uint32_t        unpaired;    /* sends and receives whose other end is not in the table */
    const char     *left_out;    /* why it is not replayed, in words; NULL: it is */
} hu_pipeline_step;

typedef struct {
    const hu_operations *table;
    hu_pipeline_worker  *workers; /* by dp, then stage */
    hu_pipeline_step    *steps;   /* by number */
    size_t               n_workers, n_steps, n_kept;
    uint32_t             n_stages, n_dp; /* the largest number + 1 */
    uint32_t             n_dp_seen;      /* how many occur */
    int64_t              n_model_chunks; /* in the whole model */
    bool                 has_dp;         /* gradients are exchanged between workers */
    bool                 overlaps_grads; /* while backward passes still run */
} hu_pipeline;

/*
 * The graphs of all steps of the table, which is borrowed.  A step whose rows cannot be a whole step is left out and says
 * why.  Returns 0, HU_ENOMEM, or HU_EEMPTY when no step is left.
 */
int hu_pipeline_build(const hu_operations *table, hu_arena *arena, hu_pipeline *out, hu_error *err);

/*
 * How long the step takes with these costs and, unless NULL, launch delays, in ns: until the last optimizer ends, or the
 * last operation where the step has none.  `end` has room for s->n times and is filled.
 */
double hu_pipeline_replay(const hu_pipeline_step *s, const double *cost_ns, const double *delay_ns, double *end);

#endif
