/* SPDX-License-Identifier: Apache-2.0
 * roofline.h - what operators compute and move, against what the device can: roofline, coverage, MFU and HFU. */
#ifndef HU_ANALYZE_ROOFLINE_H
#define HU_ANALYZE_ROOFLINE_H

#include "analyze/ask.h"
#include "analyze/flops.h"
#include "analyze/peaks.h"

typedef enum { HU_BOUND_UNKNOWN, HU_BOUND_COMPUTE, HU_BOUND_BANDWIDTH } hu_bound;

/* Calls of one operator with the same shapes and types that launched kernels themselves. */
typedef struct {
    hu_str       op, shapes, types; /* as recorded */
    hu_str       signature;         /* shapes and types in one text, by which ranks are merged */
    hu_work_kind kind;
    hu_dtype     dtype; /* what the unit computes in */
    int64_t      calls, kernels;
    int64_t      kernel_ns;    /* sum over its kernels */
    double       flops, bytes; /* of all calls; flops NaN when only bytes are known */
    double       roofline_ns;  /* the least time by the device's peaks; NaN without them */
    hu_bound     bound;
    hu_str       peak;        /* which one: "bf16 matrix"; "" unknown */
    double       peak_tflops; /* 0 unknown */
} hu_roofline_op;

/* Kernels that no model explains, by the operator that launched them, or by their own label. */
typedef struct {
    hu_str  name;
    bool    is_kernel;
    int64_t kernels, kernel_ns;
} hu_roofline_unknown;

typedef struct {
    hu_str               device; /* the row of the table of peaks: "H100 SXM"; "" not in it */
    hu_str               source; /* of its numbers */
    double               gbps;   /* of its memory, 1e9 bytes per second; 0 unknown */
    hu_roofline_op      *at;     /* by kernel_ns, then texts */
    size_t               n;
    hu_roofline_unknown *unknown; /* by kernel_ns, then name */
    size_t               n_unknown;
    int64_t              kernel_ns;     /* all kernels that compute */
    int64_t              modelled_ns;   /* of it under a model with FLOPs */
    int64_t              bytes_only_ns; /* under one with bytes alone */
    int64_t              matrix_ns;     /* in products, convolutions and attention */
    double               flops;         /* executed, all of them */
    double               matrix_flops;  /* of them in products, convolutions and attention */
    double               roofline_ns;   /* sum over the ops that have one; and the time of their kernels */
    int64_t              roofline_kernel_ns;
    /* for MFU: the counted steps, or the span where there are none */
    double window_ns;
    double model_peak_ns;    /* Σ FLOPs of the model / peak: what the matrix units would need at their peak */
    double executed_peak_ns; /* the same with what is computed a second time */
    double window_model_flops;
} hu_roofline;

/* Rows live in the arena of `ask`, texts are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_roofline_measure(const hu_ask *ask, hu_roofline *out, hu_error *err);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_roofline_merge(hu_roofline *into, const hu_roofline *from, hu_arena *arena);

double hu_roofline_mfu_pct(const hu_roofline *r); /* NaN without peaks or without FLOPs */
double hu_roofline_hfu_pct(const hu_roofline *r);

const char *hu_bound_name(hu_bound bound); /* "unknown", "compute", "bandwidth" */

#endif
