/* SPDX-License-Identifier: Apache-2.0
 * slowdown.h - how much slower a job is than it would be if all workers were alike, and which of them explain it. */
#ifndef HU_ADVISE_SLOWDOWN_H
#define HU_ADVISE_SLOWDOWN_H

#include "graph/pipeline.h"

/*
 * A part of the job: a worker, a stage, a data parallel rank, or a type of operation.  Means over the steps:
 *
 *     alone      step if only this part ran as it did and all else ideally
 *     fixed      step if this part ran ideally and all else as it did
 *     delayed    step if this part alone had its launch delays
 *
 * NaN where it was not asked: of the first HU_SLOWDOWN_EXACT parts of a list all is known, of the others S alone.
 */
typedef struct {
    uint32_t    id;   /* worker: index in hu_pipeline.workers; stage; dp rank; type: see `name` */
    int32_t     rank; /* of a worker, where told; else -1 */
    const char *name; /* of a type; else NULL */
    double      alone_ns, fixed_ns, delayed_ns;
    double      slowdown;        /* alone / ideal */
    double      explained;       /* (original - fixed) / (original - ideal); NaN when nothing is lost */
    double      launch_slowdown; /* delayed / original */
    size_t      scenario;        /* where its steps lie in hu_slowdown.step_ns; SIZE_MAX: nowhere */
} hu_slowdown_part;

typedef struct {
    const hu_slowdown_part *at; /* the largest slowdown first */
    size_t                  n;
} hu_slowdown_parts;

/* Below this a job is not called slow. */
static const double HU_SLOWDOWN_LEAST = 1.03;

enum { HU_SLOWDOWN_EXACT = 64, HU_SLOWDOWN_WORKERS = 16, HU_SLOWDOWN_LADDER = 6 };

typedef struct {
    const hu_pipeline *pipeline;
    size_t             n_steps; /* that are whole */
    /* a step, mean over them */
    double            measured_ns;     /* as recorded */
    double            original_ns;     /* replayed without launch delays */
    double            ideal_ns;        /* and with every operation as long as all of its kind are on average */
    double            replayed_ns;     /* with launch delays: what the graph makes of the record */
    double            replay_error;    /* mean over steps of abs(replayed / measured - 1) */
    double            slowdown;        /* original / ideal */
    double            launch_slowdown; /* measured / original */
    double            kind_ideal_ns[HU_OPERATION_COUNT]; /* NaN: none */
    hu_slowdown_parts stages, dp_ranks, types;
    hu_slowdown_parts launch_types;     /* only `delayed` counts; the first operation of a step has a type of its own */
    hu_slowdown_parts workers;          /* all; slowdown is the smaller one of dp rank and stage, `alone` and `fixed` NaN
                                           but for the first HU_SLOWDOWN_WORKERS                                  */
    double            worker_share;     /* M_W: explained by the slowest 3 % of workers together */
    size_t            worker_share_n;   /* how many those are */
    double            last_stage_share; /* M_S: explained by the last stage */
    double            last_stage_alone_ns, last_stage_fixed_ns;
    double            worst_workers_alone_ns, worst_workers_fixed_ns; /* of those together, as of a part */
    /* the 2, 4, 8 ... slowest workers together, fewer than a stage has: two slow ones hide each other */
    struct {
        size_t count;
        double fixed_ns, explained;
    } ladder[HU_SLOWDOWN_LADDER];
    size_t        n_ladder;
    double        correlation; /* of forward and backward time of one microbatch on one worker; NaN */
    double        variation;   /* of forward passes on a worker: deviation / mean; NaN */
    double        levelled_ns; /* step if all passes of a worker, chunk and direction took the same; NaN */
    double        levelled_explained;
    double        balanced_ns; /* step if passes of all stages took the same on average, each as varied as it is */
    double        balanced_explained;
    const double *step_ns; /* [scenario * n_steps + step] */
    const size_t *kept;    /* n_steps: which of hu_pipeline.steps */
    size_t        original_scenario, ideal_scenario;
} hu_slowdown;

/* Fills *out, which borrows the pipeline; its lists live in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_slowdown_measure(const hu_pipeline *p, int threads, hu_arena *arena, hu_slowdown *out, hu_error *err);

/* Who or what is to blame, the narrowest first. */
typedef enum {
    HU_BLAME_WORKER,
    HU_BLAME_WORKERS, /* the first `count` of hu_slowdown.workers together */
    HU_BLAME_STAGE,
    HU_BLAME_DP_RANK,
    HU_BLAME_LENGTHS, /* microbatches differ in length: all passes of a worker alike is the what-if */
    HU_BLAME_TYPE,    /* a type of operation, on workers in turn */
} hu_blame;

typedef struct {
    hu_blame                blame;
    const hu_slowdown_part *part; /* NULL for WORKERS and LENGTHS */
    size_t                  count;
    double                  fixed_ns, explained;
    double                  weight; /* by which suspects are compared: see suspects.c */
} hu_suspect;

enum { HU_SUSPECTS = 6 };

/*
 * What explains at least half of what is lost, at most one of each sort: first the narrowest that explains nearly as much as
 * the best, then the others.  Returns how many; none when the job loses less than 3 %, or loses it on many places.
 */
size_t hu_slowdown_suspects(const hu_slowdown *s, hu_suspect out[HU_SUSPECTS]);

#endif
