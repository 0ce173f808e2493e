/* SPDX-License-Identifier: Apache-2.0
 * page_faults.h - memory that is given back and touched anew: what that takes of the main thread. */
#ifndef HU_GRAPH_PAGE_FAULTS_H
#define HU_GRAPH_PAGE_FAULTS_H

#include "graph/graph.h"

typedef struct {
    int64_t  faults, pages; /* of the process; the pages that it held at most; 0: not recorded */
    int64_t  samples, ns;   /* of the main thread, inside the kernel while it touches memory; CPU time that they stand for */
    uint32_t function;      /* string id: in which most of them are; 0 none */
    double   share;         /* of the main thread's time outside of calls */
} hu_page_faults;

/* False: no memory. */
bool hu_page_faults_find(const hu_graph *g, hu_arena *scratch, hu_page_faults *out);

/* Is the node a call that only maps or releases memory? */
bool hu_page_faults_is_call(const hu_graph *g, size_t node);

/* The same of a slice. */
bool hu_page_faults_is_memory(const hu_ask *ask, uint32_t slice);

#endif
