/* SPDX-License-Identifier: Apache-2.0
 * bandwidth.h - the curve of a test of collectives: what it reaches and from which size on, latency, the links' peak. */
#ifndef HU_ANALYZE_BANDWIDTH_H
#define HU_ANALYZE_BANDWIDTH_H

#include "analyze/fit.h"
#include "trace/step_log.h"

#define HU_BENCH_ABOVE 1.01 /* times the links' peak: what rounding does not explain */

typedef struct {
    const hu_log_bench *test;
    double              factor;     /* busbw / algbw: exactly where it is one of a collective; NaN without rows */
    const char         *guess;      /* what the factor says where the test has no name; NULL */
    double              best;       /* GB/s of bus bandwidth, the larger of out of place and in place; NaN without rows */
    int64_t             best_at;    /* bytes */
    double              growth;     /* of the bandwidth by the last factor of two, share; NaN cannot be told */
    bool                is_flat;    /* it grows no more: `best` is what it reaches */
    int64_t             from;       /* the least size from which on all reach 95 % of `best` */
    int64_t             half;       /* the same for half of it; 0: all sizes do */
    hu_fit              fit;        /* time = alpha + bus bytes / beta, through the shorter time of each size */
    double              latency;    /* ns, of the line through the small sizes; NaN: all sizes take longer than it */
    double              beta;       /* GB/s, of the line through the large ones; NaN */
    double              peak;       /* GB/s that the links can carry in one direction; 0 not known */
    const char         *links;      /* "NVLink 4"; NULL: as NCCL's topology has it */
    bool                is_part;    /* of a board, so nobody knows which links these GPUs have */
    bool                is_at_most; /* there are more ports than GPUs: fewer may be used */
    int64_t             n_ports;    /* of a node, where `peak` is what its InfiniBand or RoCE ports carry; else 0 */
    double              wrong;      /* elements, of all sizes */
    const hu_bench_row *first_wrong;
    bool                is_checked; /* any result was */
} hu_bench_answer;

/* `nccl`: what NCCL said in the same log.  Borrows from `test`.  False: no memory. */
bool hu_bandwidth_measure(const hu_log_bench *test, const hu_log_nccl *nccl, hu_arena *arena, hu_bench_answer *out);

/* The bus bandwidth of a row, the larger of both places; NaN not told. */
double hu_bandwidth_of(const hu_bench_row *row);

#endif
