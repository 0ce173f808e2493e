/* SPDX-License-Identifier: Apache-2.0
 * op_kernels.h - which kernels an operator launches, and from which line of the user's program. */
#ifndef HU_ANALYZE_OP_KERNELS_H
#define HU_ANALYZE_OP_KERNELS_H

#include "analyze/ask.h"

/* Device work of one name that one operator launched from one place. */
typedef struct {
    hu_str  op; /* the innermost operator or annotation; "" unknown */
    hu_str  kernel;
    hu_str  source; /* "train.py(42): forward"; "" without Python frames or stacks */
    int64_t calls, total_ns;
} hu_op_kernel;

typedef struct {
    hu_op_kernel *at; /* by total_ns, then texts */
    size_t        n;
} hu_op_kernels;

/* Rows live in the arena of `ask`, texts are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_op_kernels_measure(const hu_ask *ask, hu_op_kernels *out, hu_error *err);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_op_kernels_merge(hu_op_kernels *into, const hu_op_kernels *from, hu_arena *arena);

#endif
