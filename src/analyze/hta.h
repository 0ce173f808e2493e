/* SPDX-License-Identifier: Apache-2.0
 * hta.h - the numbers as HolisticTraceAnalysis computes them, its rounding and its filters included, for those who compare.
 *
 * Nothing else uses these.  Times are microseconds, as HTA prints them; doubles because HTA's are.
 */
#ifndef HU_ANALYZE_HTA_H
#define HU_ANALYZE_HTA_H

#include "analyze/ask.h"

/* What pandas' describe() prints. */
typedef struct {
    int64_t count;
    double  mean, std, min, q25, q50, q75, max; /* NaN where there is nothing */
} hu_hta_describe;

typedef enum { HU_HTA_HOST_WAIT, HU_HTA_KERNEL_WAIT, HU_HTA_OTHER, HU_HTA_WAITS } hu_hta_wait;

typedef struct {
    int64_t stream;
    double  idle_us[HU_HTA_WAITS];
    int64_t gaps[HU_HTA_WAITS];
} hu_hta_idle;

typedef struct {
    const char *type; /* "COMPUTATION overlapping COMMUNICATION" */
    double      sum_us;
} hu_hta_type;

typedef struct {
    hu_str      name;
    const char *type;
    int64_t     count;
    double      sum_us, max_us, min_us, mean_us, std_us;
} hu_hta_kernel;

typedef struct {
    int64_t         stream;
    hu_hta_describe length;
    double          full_us; /* at 1024 or more */
} hu_hta_queue;

typedef struct {
    const char     *name; /* "Memcpy HtoD" */
    hu_hta_describe gbps;
} hu_hta_bandwidth;

enum { HU_HTA_TYPES = 8, HU_HTA_COPIES = 5 };

typedef struct {
    int64_t          rows, gpu_rows;
    double           kernel_us, idle_us, compute_us, non_compute_us;
    double           overlap_pct; /* NaN without communication */
    hu_hta_type      types[HU_HTA_TYPES];
    size_t           n_types;
    hu_hta_kernel   *kernels; /* by name */
    size_t           n_kernels;
    hu_hta_idle     *idle; /* by stream */
    size_t           n_idle;
    hu_hta_queue    *queues; /* by stream */
    size_t           n_queues;
    hu_hta_bandwidth copies[HU_HTA_COPIES];
    size_t           n_copies;
    int64_t          launches, short_kernels, runtime_outliers, delay_outliers;
    double           cpu_us, gpu_us, delay_us;
    /* what makes HTA differ from the exact answer on this file */
    bool    is_rounded;               /* every event to whole microseconds */
    int64_t sync_rows, operator_rows; /* counted as device work */
    int64_t dropped_rows;             /* after the beginning of the last step, or device work without a kept launch */
    int64_t negative_rows;            /* durations below zero after rounding: HTA may stop with an assertion */
} hu_hta;

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_hta_measure(const hu_ask *ask, hu_hta *out, hu_error *err);

#endif
