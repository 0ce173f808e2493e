/* SPDX-License-Identifier: Apache-2.0
 * simulation.h - one rank made ready for questions of the kind "what if": graph, replay, critical path, self-check. */
#ifndef HU_GRAPH_SIMULATION_H
#define HU_GRAPH_SIMULATION_H

#include "analyze/ground.h"
#include "graph/check.h"

typedef struct {
    hu_ask      ask;
    hu_steps    steps;
    hu_graph    graph;
    hu_pricer  *pricer;
    hu_pricers *pricers;  /* it, and copies for more threads */
    hu_path     path;     /* of the replay as it was */
    int64_t    *slack_ns; /* of the same, by operation: hu_replay_slack */
    hu_check    check;
    bool        keeps_effects; /* of what is found, beside the graph: set by whoever replays it with other ranks */
    double      tensor_factor; /* how much faster tensor cores are than what products of fp32 run on; 0 unknown */
    hu_arena   *arena, *scratch;
    hu_ground  *own_ground; /* NULL: somebody else's */
} hu_simulation;

/*
 * `options` may be NULL for the usual ones.  The ground and its trace must outlive it.  NULL on failure: HU_ENOMEM, or
 * HU_EUSAGE when the trace holds nothing that could be replayed.
 */
hu_simulation *hu_simulation_new_on(const hu_ground *ground, const hu_graph_options *options, hu_error *err);

/* The same on a ground of its own; `range` may be NULL.  HU_EUSAGE also when there is no step of the range. */
hu_simulation *hu_simulation_new(const hu_trace *trace, const hu_step_range *range, const hu_graph_options *options,
                                 hu_error *err);

void hu_simulation_free(hu_simulation *s);

#endif
