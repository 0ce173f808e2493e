/* SPDX-License-Identifier: Apache-2.0
 * simulation.h - one rank made ready for questions of the kind "what if": graph, replay, critical path, self-check. */
#ifndef HU_GRAPH_SIMULATION_H
#define HU_GRAPH_SIMULATION_H

#include "graph/check.h"

typedef struct {
    hu_ask     ask;
    hu_steps   steps;
    hu_graph   graph;
    hu_pricer *pricer;
    hu_path    path; /* of the replay as it was */
    hu_check   check;
    bool       keeps_effects; /* of what is found, beside the graph: set by whoever replays it with other ranks */
    double     tensor_factor; /* how much faster tensor cores are than what products of fp32 run on; 0 unknown */
    hu_arena  *arena, *scratch;
} hu_simulation;

/*
 * `range` may be NULL; `options` may be NULL for the usual ones.  The trace must outlive it.  NULL on failure: HU_ENOMEM, or
 * HU_EUSAGE when the trace holds nothing that could be replayed or no step of the range.
 */
hu_simulation *hu_simulation_new(const hu_trace *trace, const hu_step_range *range, const hu_graph_options *options,
                                 hu_error *err);

void hu_simulation_free(hu_simulation *s);

#endif
