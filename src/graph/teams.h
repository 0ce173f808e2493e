/* SPDX-License-Identifier: Apache-2.0
 * teams.h - what threads of OpenMP would not take in their regions if all of a team had equal work. */
#ifndef HU_GRAPH_TEAMS_H
#define HU_GRAPH_TEAMS_H

#include "graph/graph.h"

/*
 * *out: ns by node, in `arena`; NULL where OpenMP told of no region with unequal work.  A phase of a region (omp_regions.h)
 * gets shorter for all of its threads alike: who works less waits longer, and who waits is not sooner done than the last.
 * False: no memory.
 */
bool hu_teams_find(const hu_graph *g, hu_arena *arena, hu_arena *scratch, int64_t **out);

#endif
