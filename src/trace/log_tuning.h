/* SPDX-License-Identifier: Apache-2.0
 * log_tuning.h - what DeepSpeed's autotuner tried, and how fast it was. */
#ifndef HU_TRACE_LOG_TUNING_H
#define HU_TRACE_LOG_TUNING_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* One configuration: a directory of autotuning_results, or a file of autotuning_exps. */
typedef struct {
    hu_str  folder; /* of its files; "" for a file of its own */
    hu_str  name;
    int64_t zero_stage, micro_batch, accumulation, gpus, nodes; /* -1 not told, or "auto" */
    hu_str  offload_optimizer, offload_params;                  /* "cpu", "nvme"; "" not offloaded */
    double  throughput, latency, flops;                         /* as DeepSpeed wrote them; NaN not measured */
    bool    has_config, has_metrics;
} hu_log_experiment;

/* A row of summary.txt. */
typedef struct {
    hu_str  space; /* "z1", "global" */
    int64_t n;     /* experiments */
    double  best;  /* of the metric; 0: none ran */
    hu_str  name;  /* the experiment that reached it */
} hu_log_space;

typedef struct {
    HU_VEC(hu_log_experiment) experiments;
    HU_VEC(hu_log_space) spaces;
    hu_str   metric; /* "throughput", "latency", "FLOPS_per_gpu"; "": throughput, as nothing else is told */
    double   params, trainable, activation; /* of the model; bytes of activations per GPU at micro batch 1; NaN */
    uint64_t n_files;
} hu_log_tuning;

#endif
