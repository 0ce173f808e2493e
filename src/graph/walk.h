/* SPDX-License-Identifier: Apache-2.0
 * walk.h - back along what held a replay up, piece by piece; private to this folder. */
#ifndef HU_GRAPH_WALK_H
#define HU_GRAPH_WALK_H

#include "base/map.h"
#include "graph/beside.h"
#include "graph/sweep.h"

/* Where the walk is. */
enum { HU_WALK_NODE_BEGIN, HU_WALK_NODE_END, HU_WALK_OP_START, HU_WALK_OP_END, HU_WALK_WINDOW };

typedef struct {
    const hu_replay *r;
    hu_path         *path;
    int64_t          from_ns; /* what lies before is not of the window */
    int64_t          now_ns;
    uint64_t         steps_left; /* at the start hu_walk_most() of all graphs that are walked */
    hu_map           row_of_key;
    HU_VEC(hu_path_row) rows;
    hu_arena *arena;  /* NULL: no rows */
    hu_beside beside; /* of rows alone */
    bool      failed;
} hu_walk;

/* How many instants a graph has.  Each step of a walk goes to one that the sweep computed earlier, so none takes more. */
static inline uint64_t hu_walk_most(const hu_graph *g)
{
    return 2 * ((uint64_t)g->n_nodes + g->n_ops) + 1;
}

/* The time from `to_ns` to where the walk is was of this class; the walk is at `to_ns` then. */
void hu_walk_add(hu_walk *w, hu_class class, uint32_t slice, int64_t to_ns);

/* Where the last step ended, `last_op` as of hu_sweep_ends; sets *i. */
int hu_walk_first(const hu_replay *r, uint32_t last_op, uint32_t *i);

/* Is there more to walk?  False too, asserted, when a walk has gone around in a circle. */
bool hu_walk_goes_on(hu_walk *w, int at);

/* One piece back; returns where the walk is then, and sets *i. */
int hu_walk_step(hu_walk *w, const hu_costs *c, int at, uint32_t *i);

#endif
