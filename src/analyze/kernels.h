/* SPDX-License-Identifier: Apache-2.0
 * kernels.h - device kernels by name: how often, how long, how launched. */
#ifndef HU_ANALYZE_KERNELS_H
#define HU_ANALYZE_KERNELS_H

#include "base/error.h"
#include "base/interval.h"
#include "trace/trace.h"

typedef struct {
    hu_str   name;
    bool     is_comm;
    int64_t  calls, calls_in_steps;
    int64_t  total_ns, min_ns, max_ns;
    double   stddev_ns;             /* of the sample; NaN below two calls                       */
    uint32_t grid[3];               /* of the first call; 0 unknown                             */
    uint16_t block[3];
    bool     geometry_varies;
    uint16_t registers;             /* of the first call; 0 unknown                             */
    uint32_t shared_bytes;
    double   occupancy_pct;         /* estimated achieved, weighted by duration; NaN unknown    */
} hu_kernel;

typedef struct {
    hu_kernel *at;                  /* by total_ns, then name                                   */
    size_t     n;
    int64_t    total_ns;            /* sum over all kernels: what percentages refer to          */
} hu_kernels;

/*
 * scope: only kernels launched in there, NULL for all; steps: for calls_in_steps, NULL for none.  Rows live in `arena`,
 * names are borrowed from the trace.  Returns 0 or HU_ENOMEM.
 */
int hu_kernels_measure(const hu_trace *trace, const hu_intervals *scope, const hu_intervals *steps, hu_arena *arena,
                       hu_arena *scratch, hu_kernels *out, hu_error *err);

#endif
