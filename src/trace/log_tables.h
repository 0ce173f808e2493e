/* SPDX-License-Identifier: Apache-2.0
 * log_tables.h - what DeepSpeed prints at the end of a run: its collectives by size, and its flops profile. */
#ifndef HU_TRACE_LOG_TABLES_H
#define HU_TRACE_LOG_TABLES_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* A row of the comms logger's summary: calls of one operation and size, as rank 0 waited for them. */
typedef struct {
    hu_str  op;   /* "all_reduce" */
    hu_str  size; /* as printed: "914.0 MB", of 1024 x 1024 bytes */
    double  bytes;
    int64_t count;
    double  total_ns;               /* as printed; may be negative where the clock of a row failed */
    double  avg_ns;                 /* without the tenth at either end */
    double  alg_gbps, bus_gbps;     /* 1e9 BITS per second, as printed */
    double  least_ns, straggler_ns; /* averages over calls: of the fastest rank, and what rank 0 took longer; NaN not told */
    uint64_t line, last_line;       /* in the last table that has it, and of whichever table */
} hu_log_op;

/* A module of the detailed profile, or a class of them at one depth of the aggregated one. */
typedef struct {
    hu_str  name; /* "layers.0.moe"; "" in the aggregated profile, and of the root */
    hu_str  kind; /* its class */
    int32_t depth;
    double  params, macs, ns, flops; /* of one forward pass; flops per second; NaN not told */
    double  inner_ns;                /* of the modules in it */
} hu_log_module;

typedef struct {
    bool    is_there;
    int64_t step; /* -1 not told, as the three that follow */
    int64_t world, data_parallel, model_parallel;
    double  batch, params, model_params, fwd_macs, fwd_flops; /* per GPU but for model_params; NaN not told */
    double  fwd_ns, bwd_ns, step_ns, iter_ns;
    double  fwd_rate, train_rate,
        iter_rate;                  /* flops per second and GPU: forward, forward and backward, the whole iteration */
    double samples;                 /* per second */
    HU_VEC(hu_log_module) by_depth; /* depth and latency of classes */
    HU_VEC(hu_log_module) modules;  /* in the order of the text */
    uint64_t n_more;                /* modules beyond the limit */
    uint64_t line;
} hu_log_flops;

#endif
