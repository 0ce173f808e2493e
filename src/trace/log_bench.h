/* SPDX-License-Identifier: Apache-2.0
 * log_bench.h - what a test of collectives (nccl-tests, rccl-tests) printed: times and bandwidths by size. */
#ifndef HU_TRACE_LOG_BENCH_H
#define HU_TRACE_LOG_BENCH_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum { HU_BENCH_OUT, HU_BENCH_IN, HU_BENCH_PLACES }; /* out of place, in place */

/* One size as it was printed. */
typedef struct {
    int64_t  bytes;
    double   ns[HU_BENCH_PLACES];    /* NaN not told, as all that follow */
    double   algbw[HU_BENCH_PLACES]; /* 1e9 bytes per second: size / time */
    double   busbw[HU_BENCH_PLACES]; /* the same times a factor of the collective */
    double   wrong[HU_BENCH_PLACES]; /* elements of the result that are wrong; NaN not checked */
    uint64_t line;                   /* of the log, from 1 on */
} hu_bench_row;

/* One table. */
typedef struct {
    hu_str  name;          /* "all_reduce_perf"; "" not told */
    hu_str  version;       /* of nccl-tests; "" */
    hu_str  type, redop;   /* "float", "sum"; "" */
    hu_str  host, device;  /* of the first rank that is listed; "" */
    int64_t ranks;         /* 0 not told */
    int64_t host_ranks;    /* of these, on the first one's host */
    int64_t pass;          /* of its sizes, from 1 on (-N, -r); 0: there is one */
    hu_str  failure;       /* "Test NCCL failure common.cu:303 '…'"; "" */
    bool    several_hosts; /* or GPUs of several names */
    bool    several_devices;
    double  average;       /* "Avg bus bandwidth", 1e9 bytes per second; NaN not told */
    int64_t out_of_bounds; /* values outside of what was to be; -1 not told */
    bool    has_failed;    /* "FAILED" beside them */
    int64_t n_torn;        /* sizes whose numbers are not all there */
    HU_VEC(hu_bench_row) rows;
} hu_log_bench;

#endif
