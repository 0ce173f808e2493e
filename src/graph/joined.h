/* SPDX-License-Identifier: Apache-2.0
 * joined.h - threads that the main thread waits for until they have ended, what they compute, and how it could be shared. */
#ifndef HU_GRAPH_JOINED_H
#define HU_GRAPH_JOINED_H

#include "graph/graph.h"

/* A thread that computes while the main thread waits in pthread_join, alone or among others that do the same work. */
typedef struct {
    uint32_t lane;      /* the one of those that runs longest */
    uint32_t track;     /* of it */
    int64_t  run_ns;    /* that it runs, outside of calls */
    int64_t  all_ns;    /* the same of all of them */
    int64_t  share_ns;  /* what each would run: of several an equal part, of one alone a part for each CPU; but no less than
                          all that runs meanwhile takes on the CPUs that the job may use.  As long as run_ns: not known */
    int64_t  wants_ns;  /* that `lane` waits for a CPU, outside of calls */
    int64_t  wait_ns;   /* of the main thread, for this one or another of them */
    bool     is_behind; /* the main thread waits for threads that wait for this one */
    uint32_t n;         /* how many do the same work, by the function that most of their samples are in; 1: it is alone */
    uint32_t function;  /* string id: most of its samples are in it; 0 none */
    int64_t  samples, in_function;
} hu_joined_group;

typedef struct {
    hu_joined_group *at; /* in the order of their lanes */
    size_t           n;
    int64_t         *run_ns;     /* by node: that its thread runs in it; 0 in calls.  NULL: there are none */
    int64_t         *ready_ns;   /* the same: that it waits for a CPU */
    int64_t         *lane_ns;    /* by lane: the sum of that */
    int64_t         *barrier_ns; /* by lane: that it waits at barriers */
    uint32_t        *mate;       /* by lane: row of `at`; HU_NONE: in none, or too short to count */
} hu_joined;

/*
 * Of a whole capture without a device; of others nothing.  Everything lives in `arena`.  False: no memory.
 */
bool hu_joined_find(const hu_graph *g, hu_arena *arena, hu_arena *scratch, hu_joined *out);

/* Does a node wait for others at a barrier? */
bool hu_joined_is_barrier(const hu_graph *g, size_t node);

#endif
