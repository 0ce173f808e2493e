/* SPDX-License-Identifier: Apache-2.0
 * beside.h - how much of a call of another thread lies beside the main thread's own work.
 *
 * A path goes through the whole of a call that the main thread waits for at last, though that thread may have worked for
 * most of it: a worker sleeps for 100 ms, and the main thread computes for 80 of them and joins it.  Without the call only
 * the rest is saved, and only the rest may be called a time when nothing else runs.
 */
#ifndef HU_GRAPH_BESIDE_H
#define HU_GRAPH_BESIDE_H

#include "graph/graph.h"

typedef struct {
    const hu_ask     *ask;
    const hu_stretch *at; /* the main thread's states, by time; NULL: not recorded */
    size_t            n;
    uint32_t          main; /* its track */
} hu_beside;

/* Borrows from the graph.  In a graph without a trace, or without states of the main thread, nothing lies beside. */
hu_beside hu_beside_find(const hu_graph *g);

/* How long the main thread runs, or waits for a CPU, in the first `length_ns` of another thread's slice; 0 of its own. */
int64_t hu_beside_ns(const hu_beside *b, uint32_t slice, int64_t length_ns);

#endif
