/* SPDX-License-Identifier: Apache-2.0
 * fit.h - what a message costs before its first byte, and what each byte costs: time = alpha + bytes / beta. */
#ifndef HU_ANALYZE_FIT_H
#define HU_ANALYZE_FIT_H

#include "base/arena.h"

/* One size: what goes over the wire, and the time it takes. */
typedef struct {
    double bytes;  /* S * f: size of the call times the factor of its bus bandwidth */
    double ns;     /* > 0 */
    double weight; /* > 0: how much this size counts */
} hu_fit_point;

/* A line through a range of sizes.  One of the two costs may be too small to be seen; never both. */
typedef struct {
    double from_bytes, to_bytes; /* on the wire: the sizes it was fitted to */
    double alpha_ns;             /* latency; 0: cannot be told at these sizes */
    double ns_per_byte;          /* 1 / beta; 0: size makes no difference at these sizes */
    size_t n;                    /* points */
} hu_fit_piece;

enum { HU_FIT_PIECES = 2 };

typedef struct {
    hu_fit_piece at[HU_FIT_PIECES]; /* by size */
    size_t       n;                 /* 0: too few sizes, or too near each other */
    double       error;             /* weighted mean of |fitted - seen| / seen */
} hu_fit;

/*
 * Sorts `points` in place.  Sizes must lie a factor of 8 apart for a line, else out->n is 0.  Linear in the points but for
 * sorting them.  False when there is no memory.
 */
bool hu_fit_measure(hu_fit_point *points, size_t n, hu_arena *scratch, hu_fit *out);

/* The piece that a size belongs to; NULL when nothing was fitted. */
const hu_fit_piece *hu_fit_piece_at(const hu_fit *fit, double bytes);

/* What the fit says that many bytes on the wire take, ns; NaN when nothing was fitted. */
double hu_fit_ns(const hu_fit *fit, double bytes);

#endif
