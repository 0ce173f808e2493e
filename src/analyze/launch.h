/* SPDX-License-Identifier: Apache-2.0
 * launch.h - does the host feed the device in time: queue length, launch delay, kernels shorter than their own launch. */
#ifndef HU_ANALYZE_LAUNCH_H
#define HU_ANALYZE_LAUNCH_H

#include "analyze/ask.h"
#include "analyze/series.h"

/* What a launch and its work cost, by the work's name. */
typedef struct {
    hu_str  name;
    int64_t launches;
    int64_t call_ns;                 /* sum of the calls' durations */
    int64_t delay_ns, most_delay_ns; /* sum and largest of max(0, work start - call end) */
    int64_t work_ns;                 /* sum of the work's durations */
    int64_t shorter;                 /* work that took less time than the call that launched it */
} hu_launch;

typedef struct {
    int64_t device, stream;
    int64_t launches;
    int64_t most;    /* pieces of work that were launched and had not begun */
    double  mean;    /* over time, from the first launch to the last start */
    int64_t full_ns; /* time with at least HU_LAUNCH_QUEUE_FULL in the queue */
} hu_launch_queue;

typedef struct {
    hu_str  call, work, op; /* names; op is the operator around the call, "" none */
    int64_t start_ns, call_ns, delay_ns, work_ns;
} hu_launch_outlier;

enum {
    HU_LAUNCH_QUEUE_FULL = 1024,      /* a launch blocks beyond; HTA's default */
    HU_LAUNCH_LONG_CALL_NS = 50000,   /* HTA's runtime_cutoff */
    HU_LAUNCH_LONG_DELAY_NS = 100000, /* HTA's launch_delay_cutoff */
    HU_LAUNCH_OUTLIERS = 50,
};

typedef struct {
    int64_t            launches; /* calls with one piece of work; graphs are counted apart */
    int64_t            graph_launches, graph_work, graph_work_ns;
    int64_t            shorter, shorter_ns; /* work shorter than its call, and that work's time */
    int64_t            long_calls, long_delays;
    hu_stats           call, delay; /* over launches, in ns */
    hu_launch         *at;          /* by launches * (call + delay), then name */
    size_t             n;
    hu_launch_queue   *queues; /* by device and stream */
    size_t             n_queues;
    hu_series          queue;    /* of all streams together */
    hu_launch_outlier *outliers; /* the longest calls, longest first */
    size_t             n_outliers;
} hu_launches;

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_launches_measure(const hu_ask *ask, hu_launches *out, hu_error *err);

/* Adds another rank; quantiles cannot be added and become NaN, the series goes.  False when there is no memory. */
bool hu_launches_merge(hu_launches *into, const hu_launches *from, hu_arena *arena);

#endif
