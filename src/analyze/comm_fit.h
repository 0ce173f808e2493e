/* SPDX-License-Identifier: Apache-2.0
 * comm_fit.h - a line for each kind of collective, group size and sort of link, and what it says of sizes. */
#ifndef HU_ANALYZE_COMM_FIT_H
#define HU_ANALYZE_COMM_FIT_H

#include "analyze/comm.h"

/* Calls that are alike: what they need without waiting, as far as one knows. */
typedef struct {
    hu_comm_kind  kind;
    hu_comm_link  link;
    int64_t       bytes, group_size; /* -1 not recorded */
    double        factor;            /* of the bus bandwidth; NaN unknown */
    int64_t       calls;
    double        least_ns; /* the time they need; NaN unknown */
    hu_comm_bound bound;    /* result */
    double        share;    /* result: bytes / (beta * time), of the bandwidth that sizes reach; NaN unknown */
} hu_comm_size;

/*
 * A fit for each kind, group size and link whose sizes lie far enough apart, in `arena`, by kind, group size, link; and what
 * it says of each size.  n log n.  False when there is no memory.
 */
bool hu_comm_fit_sizes(hu_comm_size *sizes, size_t n, hu_arena *arena, hu_arena *scratch, hu_comm_fit **fits,
                       size_t *n_fits);

/* Bytes of a call (not on the wire) below which its latency is the larger part; NaN where that cannot be told. */
double hu_comm_half_bytes(const hu_comm_fit *fit, const hu_fit_piece *piece);

/* Bytes of a call of which that many go over the wire; NaN unknown. */
double hu_comm_fit_bytes(const hu_comm_fit *fit, double wire);

/* 2 (n - 1) / n and the like; NaN unknown. */
double hu_comm_factor(hu_comm_kind kind, int64_t group_size);

#endif
