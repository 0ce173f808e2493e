/* SPDX-License-Identifier: Apache-2.0
 * host_work.h - what a host thread does between launches: the short stretches that launching costs, and long pieces that are
 * work of their own and have a name. */
#ifndef HU_GRAPH_HOST_WORK_H
#define HU_GRAPH_HOST_WORK_H

#include "graph/graph.h"

typedef enum {
    HU_WORK_OTHER,   /* a wait, a call with an edit of its own, or a thread that launches nothing */
    HU_WORK_SHORT,   /* what launching costs: a graph or a fused kernel would take it away */
    HU_WORK_LONG,    /* work of its own: a row of `at` */
    HU_WORK_BLOCKED, /* a launch that returns when its own kernel has ended */
    HU_WORK_CAPTURE, /* between the begin and the end of a capture into a graph: nothing runs, by design */
} hu_work_role;

typedef enum { HU_BLOCK_UNRECORDED, HU_BLOCK_RANGE, HU_BLOCK_PYTHON, HU_BLOCK_OPERATOR, HU_BLOCK_CALL } hu_block_kind;

/* The long pieces of one name. */
typedef struct {
    uint32_t      name; /* string id; of HU_BLOCK_UNRECORDED the range around it; 0 none */
    hu_block_kind kind;
    int64_t       total_ns, longest_ns, count; /* in the window */
    uint32_t      longest;                     /* node */
    bool          launches;                    /* an operator that also launches work */
    bool          is_pause; /* something stopped the thread there now and then: `name` is where, not what */
} hu_block;

typedef struct {
    uint8_t  *role;   /* by node: hu_work_role */
    uint8_t  *is_use; /* by node: long Python, or unrecorded, behind a read from the device: perhaps work on what was read */
    uint32_t *block;  /* by node: row of `at`; HU_NONE */
    hu_block *at;     /* by total_ns, then name */
    size_t    n;
    int64_t   limit_ns;    /* a piece of host time that is longer is no launch overhead */
    int64_t   median_ns;   /* of the host time before a launch */
    int64_t   launches;    /* of the window's steps; without a device, short operators */
    bool      has_many;    /* so many launches per step that one for all of them would be worth while */
    int64_t   short_ns;    /* of the window, on all threads that launch; without a device, on the main one */
    bool      is_blocking; /* nearly every launch waits for its own kernel */
    int64_t   blocked;     /* launches that do */
    int64_t   launch_ns; /* what such a launch takes when it does not: from its begin to that of its kernel, at most 10 us */
} hu_host_work;

/* Everything lives in `arena`.  False: no memory. */
bool hu_host_work_find(const hu_graph *g, hu_arena *arena, hu_arena *scratch, hu_host_work *out);

#endif
