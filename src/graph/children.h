/* SPDX-License-Identifier: Apache-2.0
 * children.h - processes that are started again and again for a few milliseconds each. */
#ifndef HU_GRAPH_CHILDREN_H
#define HU_GRAPH_CHILDREN_H

#include "graph/graph.h"

typedef struct {
    int64_t  n, life_ns; /* short processes besides the main one; the sum of their lives */
    uint32_t name;       /* string id: of most of them, rather another program than the main one; 0 none */
    int64_t  n_named;    /* of that name */
    int64_t  ns;         /* that the main thread starts them, or waits beside them */
    uint8_t *of_node;    /* by node: it is a part of that, or of such a process; NULL: there are none */
} hu_children;

/* Everything lives in `arena`.  False: no memory. */
bool hu_children_find(const hu_graph *g, hu_arena *arena, hu_children *out);

#endif
