/* SPDX-License-Identifier: Apache-2.0
 * kernel_shapes.h - device kernels by name, grid and block: what a profiler of single launches can be held against. */
#ifndef HU_ANALYZE_KERNEL_SHAPES_H
#define HU_ANALYZE_KERNEL_SHAPES_H

#include "analyze/ask.h"

typedef struct {
    hu_str   name;
    uint32_t grid[3]; /* blocks */
    uint16_t block[3];
    int64_t  calls, total_ns;
    int64_t  calls_in_steps, steps_ns; /* of those in the steps that count */
} hu_kernel_shape;

/* One launch in a step that counts. */
typedef struct {
    uint32_t shape; /* row */
    uint32_t step;  /* number of the step; 0 without steps */
    int64_t  dur_ns;
} hu_kernel_launch;

/* Kernels whose launch was recorded with its grid; communication is left out. */
typedef struct {
    hu_kernel_shape  *at; /* by total_ns, the longest first, then by name */
    size_t            n;
    hu_kernel_launch *launches; /* in the order in which they were launched, or empty and `why_unordered` */
    size_t            n_launches;
    const char       *why_unordered; /* NULL: they are in order */
} hu_kernel_shapes;

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_kernel_shapes_measure(const hu_ask *ask, hu_kernel_shapes *out, hu_error *err);

#endif
