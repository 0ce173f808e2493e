/* SPDX-License-Identifier: Apache-2.0
 * peaks.h - what a device can do at most by its maker's documents: dense, no sparsity, at boost clock. */
#ifndef HU_ANALYZE_PEAKS_H
#define HU_ANALYZE_PEAKS_H

#include "analyze/shapes.h"

/* TFLOP/s, 0 unknown or not there. */
typedef struct {
    const char *name;      /* "H100 SXM" */
    const char *tokens;    /* words that a device's name must hold, by blanks */
    double      memory_gb; /* told apart by it, 1e9 bytes; 0 does not matter */
    int         sm_count;  /* compute units on AMD; 0 unknown */
    double      vector_fp64, vector_fp32;
    double      matrix_fp64, matrix_fp32; /* matrix_fp32 0: products of fp32 run on the vector units */
    double      tf32, fp16, bf16, fp8;    /* matrix units, accumulating in fp32 */
    double      gbps;                     /* of device memory, 1e9 bytes per second */
    const char *source;                   /* the document, and how it was checked */
} hu_peaks;

/*
 * The row for a device as the profiler reports it: its name, its multiprocessors and its memory in bytes (0 unknown).
 * NULL for a device that is not in the table, and for a part of one: a name with MIG in it, or a count of
 * multiprocessors that differs by more than 5 %.  A part shares memory and power with its neighbours, so no number of
 * the whole device, scaled or not, is its ceiling.
 */
const hu_peaks *hu_peaks_find(hu_str name, int sm_count, int64_t memory_bytes);

/*
 * The peak in TFLOP/s for work in `dtype` on the matrix or on the vector units; 0 unknown.  *what (may be NULL) names it,
 * such as "bf16 matrix" or "fp32 vector".
 */
double hu_peaks_tflops(const hu_peaks *p, bool on_matrix_unit, hu_dtype dtype, const char **what);

/* All rows, for tables and tests. */
const hu_peaks *hu_peaks_list(size_t *n);

#endif
