/* SPDX-License-Identifier: Apache-2.0
 * drift.h - do the same kernels take longer at the end of the window than at its start? */
#ifndef HU_GRAPH_DRIFT_H
#define HU_GRAPH_DRIFT_H

#include "graph/graph.h"

typedef struct {
    size_t   kernels;   /* of the last third of the steps that also ran in the first third */
    size_t   described; /* of these: grid and shapes are recorded, and were compared too */
    double   ratio;     /* of their time to that of the same kernels in the first third: median of the last third's steps */
    double   slower;   /* of the time that was compared, the share of kernels that take longer by more than HU_DRIFT_LEAST */
    int64_t *early_ns; /* by operation behind the first third: what the same kernel took there on average; 0 not known */
} hu_drift;

#define HU_DRIFT_LEAST 1.05

/*
 * Which piece of computation an operation is: kernel, grid, block and the shapes of the operator that launched it.  What
 * differs in any of these does other work, and may take another time.
 */
uint64_t hu_drift_same_kernel(const hu_ask *ask, uint32_t slice);

/*
 * `is_beside[0..n_ops)` are operations that run beside communication, which slows them down for that reason.  The ratio is
 * NaN when the window has fewer than six steps, or no kernel runs at both ends.  Everything lives in `arena`; false when
 * there is no memory.
 */
bool hu_drift_measure(const hu_graph *g, const uint8_t *is_beside, hu_arena *arena, hu_drift *out);

#endif
