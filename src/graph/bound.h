/* SPDX-License-Identifier: Apache-2.0
 * bound.h - what an edit can gain at most, from sums alone and not from a replay. */
#ifndef HU_GRAPH_BOUND_H
#define HU_GRAPH_BOUND_H

#include "graph/replay.h"

/* What there is to do in the window in the measured costs.  Edits change few of them: sums start from these. */
typedef struct {
    const hu_costs *was;
    unsigned        but;       /* classes (bits of hu_class) that do not count */
    int64_t        *busy_ns;   /* by stream */
    int64_t         thread_ns; /* the main thread's own work */
} hu_bound_base;

/* `was` are the costs of hu_costs_new, and must live as long.  False when there is no memory. */
bool hu_bound_base_init(hu_bound_base *base, const hu_graph *g, const hu_costs *was, unsigned but, hu_arena *arena);

/* What each stream has to do in the window under these costs, without what runs beside everything: busy_ns[0..n_streams). */
void hu_bound_streams(const hu_graph *g, const hu_bound_base *base, const hu_costs *c, int64_t *busy_ns);

/*
 * A step takes no less than this, in ns: its main thread's own work, or what its busiest stream has to do.
 * busy_ns[0..n_streams) is space to work in.
 */
double hu_bound_least_ns(const hu_graph *g, const hu_bound_base *base, const hu_costs *c, int64_t *busy_ns);

/*
 * GPU operations of the window as observed, each instant once, in ns per step; without communication, whose kernels may do
 * nothing but wait.  NaN when there is no memory.
 */
double hu_bound_work_ns(const hu_graph *g, hu_arena *scratch);

typedef struct {
    double
        left_ns; /* of `work_ns` (hu_bound_work_ns): two streams share one GPU, so what it computed one after the other does
                       not get shorter by being launched earlier */
    double link_ns; /* that copies which run beside everything keep the host's link busy: one after the other, whatever
                       streams they are on */
} hu_bound_work;

/* What the device still has to do under these costs, in ns per step; `was` are those of hu_costs_new. */
hu_bound_work hu_bound_work_left(const hu_graph *g, const hu_costs *was, const hu_costs *c, double work_ns);

/*
 * What all threads of the main process together compute, divided by the CPUs that the job may use, of a whole capture;
 * a child
 * beside may live on.  0: not known.  No step is
 * shorter after an edit that takes no computing away.
 */
double hu_bound_cpus_ns(const hu_graph *g);

/*
 * All that the costs take something away from, in ns per step: a step gets shorter by no more than that takes as it is.
 * INFINITY when they also take waits away: then what was behind them moves, and no sum says how far.
 */
double hu_bound_touched_ns(const hu_graph *g, const hu_costs *was, const hu_costs *c);

#endif
