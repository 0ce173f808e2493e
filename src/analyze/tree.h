/* SPDX-License-Identifier: Apache-2.0
 * tree.h - the call tree: operators and annotations by the path of names that leads to them. */
#ifndef HU_ANALYZE_TREE_H
#define HU_ANALYZE_TREE_H

#include "analyze/ask.h"

typedef struct {
    hu_str   name;
    int      depth;  /* 0: nothing around it */
    uint32_t parent; /* number of its row; HU_NONE */
    int64_t  calls;
    int64_t  host_total_ns, host_self_ns;
    int64_t  device_total_ns; /* work launched in it, however deep */
} hu_tree_node;

typedef struct {
    hu_tree_node *at; /* each parent before its children, the costliest child first */
    size_t        n;
    int64_t       hidden;             /* paths that cost too little to be kept, with all below them */
    int64_t       host_ns, device_ns; /* of all roots */
} hu_tree;

enum { HU_TREE_NODES = 1000, HU_TREE_DEPTH = 64 };

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_tree_measure(const hu_ask *ask, hu_tree *out, hu_error *err);

/* Adds the tree of another rank path by path.  Texts are borrowed.  False when there is no memory. */
bool hu_tree_merge(hu_tree *into, const hu_tree *from, hu_arena *arena);

#endif
