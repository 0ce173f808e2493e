/* SPDX-License-Identifier: Apache-2.0
 * nsys_sums.h - what sums by name can tell of a run: where time went and to what, never why. */
#ifndef HU_ANALYZE_NSYS_SUMS_H
#define HU_ANALYZE_NSYS_SUMS_H

#include "analyze/kernel_name.h"
#include "trace/nsys_sums.h"

/* One kind of sums, without the rows of other kinds that stood in the same table. */
typedef struct {
    const hu_nsys_row **at; /* the largest total first */
    size_t              n;
    double              total;
    double              missing;   /* 0..1 of the time: rows that the table left out, by its own percentages */
    bool                is_known;  /* a table told it, or nsys said that there is nothing */
    bool                is_absent; /* nsys said that there is nothing */
} hu_nsys_list;

typedef struct {
    double  ns;
    int64_t count;
} hu_nsys_part;

typedef struct {
    hu_nsys_list kernels, copies, sizes, calls, os_calls, ranges, mpi;
    hu_nsys_part compute, comm, memcpys, memsets;             /* on the GPU */
    hu_nsys_part launches, async_copies, waits, memory, rest; /* calls of CUDA */
    hu_nsys_part families[HU_FAMILY_COUNT];                   /* kernels by what their names say they do */
    hu_nsys_part plain_fp32;                                  /* matrix products without tensor cores, by their names */
    hu_nsys_part graphs;                                      /* calls that launch a CUDA graph */
    bool         lacks_graphs;                                /* what ran in graphs is in no table, by these counts */
    double       launch_median_ns;                            /* of the launching call with most calls; NaN unknown */
    size_t       n_twins;                                     /* calls that stood in the table twice, counted once */
    size_t       n_left_out;                                  /* tables of a kind that another one had told */
} hu_nsys_answer;

/* Lists live in `arena`, rows are those of `sums`.  False: no memory. */
bool hu_nsys_sums_measure(const hu_nsys_sums *sums, hu_arena *arena, hu_nsys_answer *out);

/* Bytes of the copies that a row of times is about; NaN unknown. */
double hu_nsys_sums_bytes(const hu_nsys_answer *answer, const hu_nsys_row *copy);

#endif
