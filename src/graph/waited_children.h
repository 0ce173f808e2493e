/* SPDX-License-Identifier: Apache-2.0
 * waited_children.h - child processes that compute, how long that takes as they ran, and how it could be shared. */
#ifndef HU_GRAPH_WAITED_CHILDREN_H
#define HU_GRAPH_WAITED_CHILDREN_H

#include "graph/joined.h"

/*
 * The children of one process, each with all that it started itself: those of the main process, or where it only started
 * another one that started them (a shell, a driver), of that.  Times are CPU time outside of calls.
 */
typedef struct {
    uint32_t n;                    /* children; 0: none computes */
    uint32_t parent;               /* track: main thread of who started them */
    uint32_t track;                /* the same of the process among them, or of theirs, that computes longest */
    uint32_t started_by;           /* string id: the call that started it; 0 not recorded */
    uint32_t function;             /* string id: most of its samples are in it; 0 none */
    int64_t  samples, in_function; /* of it */
    int64_t  run_ns;               /* of it */
    int64_t  wants_ns;             /* that it waits for a CPU */
    int64_t  all_ns;               /* of all of them */
    int64_t  span_ns;              /* in which any of them computes, had each a CPU whenever it wants one */
    int64_t  alone_ns;             /* of that, in which no other child computes but the one with that process */
    int64_t  first_ns;             /* the same children on the CPUs that the job may use, the longest started first */
    int64_t  even_ns;              /* the same work in equal parts on those CPUs */
    int64_t  beside_ns;            /* of one child alone: what is left of it if it ran beside what its parent computes */
    bool     is_shared;            /* they are forks of their parent, and do the same: parts of one work */
    uint8_t *of_lane;              /* 1: a thread of theirs; 2: of another process than the main one */
} hu_waited_children;

enum { HU_LANE_OF_CHILD = 1, HU_LANE_OF_OTHERS = 2 };

/*
 * Of a whole capture without a device, whose threads' states and processes' parents were recorded; of others nothing.
 * `joined` is of the same graph.  What is kept lives in `arena`.  False: no memory.
 */
bool hu_waited_children_find(const hu_graph *g, const hu_joined *joined, hu_arena *arena, hu_arena *scratch,
                             hu_waited_children *out);

/* What is left of the computing of these children: as the same processes could be started, or at least.  Of one alone half,
   or nothing: it could be faster, divided, or left out. */
double hu_waited_children_left(const hu_waited_children *w, bool at_least);

#endif
