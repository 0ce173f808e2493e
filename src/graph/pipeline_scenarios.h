/* SPDX-License-Identifier: Apache-2.0
 * pipeline_scenarios.h - replays the steps of a job with some operations as they were and the others ideal. */
#ifndef HU_GRAPH_PIPELINE_SCENARIOS_H
#define HU_GRAPH_PIPELINE_SCENARIOS_H

#include "graph/pipeline_lengths.h"

typedef enum {
    HU_SCENARIO_ALONE,    /* what is selected as it was, all else ideal */
    HU_SCENARIO_FIXED,    /* what is selected ideal, all else as it was */
    HU_SCENARIO_DELAYED,  /* all as it was, what is selected with its launch delays */
    HU_SCENARIO_LEVELLED, /* all as it was, passes of a worker as long as one another */
    HU_SCENARIO_BALANCED, /* all as it was, but for the factors of stages */
} hu_scenario_mode;

/* clang-format off */
typedef enum {
    HU_SELECT_NONE, HU_SELECT_ALL, HU_SELECT_DP, HU_SELECT_STAGE,
    HU_SELECT_WORKER,           /* index in hu_pipeline.workers                                */
    HU_SELECT_WORKERS,          /* a set of them                                               */
    HU_SELECT_TYPE,             /* hu_pipeline_type of the kind                                */
    HU_SELECT_LAUNCH_TYPE,      /* the same, the first of a step being HU_PIPELINE_FIRST_TYPE  */
} hu_selector;
/* clang-format on */

/* A type of operation is the first kind that is reported under the same name. */
enum { HU_PIPELINE_FIRST_TYPE = HU_OPERATION_COUNT };
hu_operation_kind hu_pipeline_type(hu_operation_kind kind);

typedef struct {
    hu_scenario_mode mode;
    hu_selector      by;
    uint32_t         id;
    const bool      *set; /* HU_SELECT_WORKERS: of each worker; must live until the replay */
} hu_pipeline_scenario;

typedef struct {
    const hu_pipeline         *p;
    hu_arena                  *arena;
    const double              *ideal_ns; /* of each kind */
    const hu_pipeline_lengths *lengths;  /* for LEVELLED; else NULL */
    const double              *factor;   /* for BALANCED: [stage * HU_OPERATION_COUNT + kind] */
    const size_t              *kept;     /* n_steps: which steps are replayed */
    size_t                     n_steps;
    HU_VEC(hu_pipeline_scenario) all;
    size_t  n_done;  /* scenarios that have been replayed */
    double *step_ns; /* [scenario * n_steps + step] */
} hu_pipeline_scenarios;

/* The number of the new scenario; SIZE_MAX when there is no memory. */
size_t hu_pipeline_scenario_add(hu_pipeline_scenarios *s, hu_pipeline_scenario scenario);

/* Replays what was added since the last time.  False when there is no memory. */
bool hu_pipeline_scenarios_replay(hu_pipeline_scenarios *s, int threads);

/* Mean over the steps, in ns. */
double hu_pipeline_scenario_mean(const hu_pipeline_scenarios *s, size_t scenario);

#endif
