/* SPDX-License-Identifier: Apache-2.0
 * accumulation.h - gradients that are reduced after each micro-batch, although the optimizer uses only their sum. */
#ifndef HU_GRAPH_ACCUMULATION_H
#define HU_GRAPH_ACCUMULATION_H

#include "graph/graph.h"

typedef struct {
    uint8_t *op, *node;  /* by row: a reduction that the last one of its optimizer's step makes superfluous; NULL: none */
    int64_t  rounds;     /* steps of the optimizer of which all micro-batches reduce the same buckets */
    int64_t  passes;     /* backward passes in these */
    int64_t  calls;      /* reductions in these, of which those of the last pass of each are needed */
    int64_t  more_calls; /* those that are not */
    int64_t  bytes;      /* that one pass reduces */
} hu_accumulation;

/* Everything lives in `arena`, working memory in that of g->ask.  False: no memory. */
bool hu_accumulation_find(const hu_graph *g, hu_arena *arena, hu_accumulation *out);

#endif
