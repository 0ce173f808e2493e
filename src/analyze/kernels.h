/* SPDX-License-Identifier: Apache-2.0
 * kernels.h - device kernels by name: how often, how long, how launched, and how well they fill the device. */
#ifndef HU_ANALYZE_KERNELS_H
#define HU_ANALYZE_KERNELS_H

#include "analyze/ask.h"
#include "analyze/kernel_name.h"

typedef struct {
    hu_str         name;
    hu_str         short_name; /* kernel_short.h; no other kernel of the report has it */
    hu_kernel_name read;       /* what the name says */
    bool           is_comm;
    int64_t        calls, calls_in_steps;
    int64_t        total_ns, min_ns, max_ns;
    double         mean_ns, squares; /* Welford's: squares / (calls - 1) is the variance */
    uint32_t       grid[3];          /* of the first call; 0 unknown */
    uint16_t       block[3];
    bool           geometry_varies;
    uint16_t       registers; /* of the first call; 0 unknown */
    uint32_t       shared_bytes;
    int64_t        eligible_ns; /* launched under an operator that could use tensor cores */
    int64_t        plain_ns;    /* products of fp32 on the vector units, under operators whose inputs are no smaller types */
    /* sums over calls, weighted by duration, and the duration that they cover */
    double occupancy_sum, occupancy_ns;
    double waves_sum, tail_sum, waves_ns;
    double sm_sum, sm_ns;
} hu_kernel;

/* The same by family. */
typedef struct {
    hu_kernel_family family;
    int64_t          kernels, calls, total_ns;
    int64_t          tensor_ns;  /* in kernels that use tensor cores */
    int64_t          unknown_ns; /* in kernels of which that is not known */
    int64_t          eligible_ns;
} hu_kernel_family_time;

typedef struct {
    hu_kernel            *at; /* by total_ns, then name */
    size_t                n;
    int64_t               total_ns; /* sum over all kernels: what percentages refer to */
    hu_kernel_family_time family[HU_FAMILY_COUNT];
    double                sm_busy_ns;  /* integral of min(blocks that run / multiprocessors, 1) */
    double                sm_known_ns; /* union of the kernels of which the blocks are known */
} hu_kernels;

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_kernels_measure(const hu_ask *ask, hu_kernels *out, hu_error *err);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_kernels_merge(hu_kernels *into, const hu_kernels *from, hu_arena *arena);

/* Does the operator that launched it take inputs smaller than fp32?  False too where types are not recorded. */
bool hu_kernel_is_low_precision(const hu_ask *ask, uint32_t slice);

double hu_kernel_stddev_ns(const hu_kernel *k);     /* of the sample; NaN below two calls */
double hu_kernel_occupancy_pct(const hu_kernel *k); /* estimated achieved; NaN unknown */
double hu_kernel_waves(const hu_kernel *k);         /* blocks / blocks that fit at once; NaN unknown */
double hu_kernel_tail_pct(const hu_kernel *k);      /* waves / waves rounded up */
double hu_kernel_sm_pct(const hu_kernel *k);        /* min(blocks / multiprocessors, 1) */

#endif
