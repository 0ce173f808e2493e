/* SPDX-License-Identifier: Apache-2.0
 * model.h - what is shown: the last looks of all nodes, rates between looks, and what belongs together, as rows. */
#ifndef HU_TOP_MODEL_H
#define HU_TOP_MODEL_H

#include "top/feed.h"
#include "top/history.h"

/* Of the node since its last counters; NAN: not known. */
typedef struct {
    double cpu;                           /* share of its processors */
    double waiting[HU_TOP_PRESSURES];     /* share of time */
    double received, sent, read, written; /* bytes per second */
} hu_top_rates;

/* A rank between two looks. */
typedef struct {
    double step_s;                     /* mean of the steps of the last seconds */
    double share[HU_LIVE_CAUSE_COUNT]; /* of their time */
    double rest;                       /* what none of these takes */
    double samples_per_s, tokens_per_s;
    bool   is_late; /* others wait for it */
} hu_top_pace;

typedef struct hu_top_node hu_top_node;

typedef struct {
    const hu_top_node    *node;
    const hu_top_gpu     *gpu;
    const hu_top_job     *job; /* the first; NULL: none is known */
    size_t                n_jobs;
    const hu_top_history *history;
} hu_top_gpu_row;

typedef struct {
    const hu_top_node  *node;
    const hu_top_job   *job;
    const hu_top_share *most; /* what holds it up, else its largest cause; NULL: none is known */
    size_t              n_gpus, n_ranks;
    double              busy; /* mean of its GPUs */
    double              step_s, samples_per_s, tokens_per_s;
    double              watts, joules_per_step, joules_per_sample; /* of what it alone has on this node */
    double              wasted;                                    /* share of its joules in which it did nothing */
    double              waited;                                    /* in which it waited for data or others, at most */
} hu_top_job_row;

typedef struct {
    const hu_top_node *node;
    const hu_top_job  *job;
    const hu_top_rank *rank;
    const hu_top_pace *pace;
    double             now; /* Unix time */
} hu_top_rank_row;

typedef struct {
    const hu_top_node    *node;
    const hu_top_process *process;
} hu_top_process_row;

struct hu_top_node {
    char                name[HU_TOP_NAME], state[HU_TOP_STATE];
    hu_top_look        *look; /* NULL: nothing is known now */
    hu_top_rates        rates;
    size_t              n_gpus, n_jobs; /* GPUs that count (no GPU that is divided), jobs */
    double              busy, power;    /* mean and sum over its GPUs */
    hu_top_history      cpu, memory;
    struct hu_top_past *past; /* of the model */
};

typedef struct {
    hu_top_node        *nodes;
    hu_top_gpu_row     *gpus;
    hu_top_job_row     *jobs;
    hu_top_rank_row    *ranks;
    hu_top_process_row *processes;
    size_t              n_nodes, n_gpus, n_jobs, n_ranks, n_processes;
    double              now; /* Unix time of the last look */
    bool                is_local, is_demo;
} hu_top_model;

/* False: no memory. */
bool hu_top_model_init(hu_top_model *m, size_t n_nodes);
void hu_top_model_free(hu_top_model *m);

/*
 * Takes over a look of a node (NULL: there was none since) and what is wrong with it.  A node that is silent for
 * `patience_s` has no rows any more.  Call hu_top_model_rows after the last node.
 */
void hu_top_model_take(hu_top_model *m, size_t node, hu_top_look *look, const char *state, double patience_s);
bool hu_top_model_rows(hu_top_model *m);

/* Does it hold the job up: a tenth of the step or more, and not its own work? */
bool hu_top_is_holdup(const hu_top_share *s);

/* What holds things up, in one line; "": nothing that is known. */
void hu_top_model_verdict(const hu_top_model *m, char *out, size_t room);

#endif
