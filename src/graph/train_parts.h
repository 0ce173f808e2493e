/* SPDX-License-Identifier: Apache-2.0
 * train_parts.h - parts of a training loop that need not be there: an optimizer that visits parameters one by one, forward
 * passes without a backward pass. */
#ifndef HU_GRAPH_TRAIN_PARTS_H
#define HU_GRAPH_TRAIN_PARTS_H

#include "graph/graph.h"

typedef struct {
    hu_intervals loops; /* optimizers' operators of one parameter at a time, on the main thread; jobs without a device */
    int64_t      loop_calls; /* operators in them, in the whole capture */
    hu_intervals forwards;   /* forward passes that no backward pass follows, on the main thread */
    int64_t      first_ops;  /* operators that such passes consist of, products and convolutions */
} hu_train_parts;

/* Everything lives in `arena`.  False: no memory. */
bool hu_train_parts_find(const hu_graph *g, hu_arena *arena, hu_train_parts *out);

#endif
