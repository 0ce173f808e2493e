/* SPDX-License-Identifier: Apache-2.0
 * preempted.h - waits for a CPU that a thread pays for computing: they go where the computing goes. */
#ifndef HU_GRAPH_PREEMPTED_H
#define HU_GRAPH_PREEMPTED_H

#include "graph/replay.h"

/* Arrays by node, in the arena of hu_preempted_find; NULL: no thread was ever preempted, or it is not known when. */
typedef struct {
    int64_t  *runnable_ns; /* right behind running: another thread took the CPU */
    int64_t  *running_ns;
    uint32_t *stretch;   /* of its thread, some scheduler's slices long: numbers below n_stretches */
    int64_t  *before_ns; /* for hu_preempted_settle to work in */
    double   *was, *is;  /* by stretch, the same */
    size_t    n_stretches;
} hu_preempted;

/* False: no memory. */
bool hu_preempted_find(const hu_graph *g, hu_arena *arena, hu_preempted *out);

/* The same with its own room to work in, for another thread.  False: no memory. */
bool hu_preempted_fork(const hu_preempted *p, const hu_graph *g, hu_arena *arena, hu_preempted *out);

/* Remembers the costs of nodes, before an edit changes them. */
void hu_preempted_keep(const hu_preempted *p, const hu_graph *g, const hu_costs *c);

/*
 * Behind an edit: of each stretch, waits for a CPU become less by the share of the running time that the edit took away,
 * wherever in it they were.  What the edit did to waits in the nodes that it changed is undone.
 */
void hu_preempted_settle(const hu_preempted *p, const hu_graph *g, hu_costs *c);

/* Of a node, the time in which its thread was not preempted. */
static inline int64_t hu_preempted_rest_ns(const hu_preempted *p, size_t node, int64_t of_ns)
{
    return p->runnable_ns ? of_ns - (p->runnable_ns[node] < of_ns ? p->runnable_ns[node] : of_ns) : of_ns;
}

#endif
