/* SPDX-License-Identifier: Apache-2.0
 * results.h - what a tool that times or weighs a program left: benchmarks with their spread, or host memory over time. */
#ifndef HU_TRACE_RESULTS_H
#define HU_TRACE_RESULTS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef enum { HU_RESULT_TIME, HU_RESULT_BYTES, HU_RESULT_NUMBER } hu_result_kind;

/* One benchmark; what its file does not say is NaN or -1.  Times are ns. */
typedef struct {
    hu_str         name;
    hu_result_kind kind;
    double         median, q1, q3, least, most;
    int64_t        rounds, outliers; /* outliers: beyond 1.5 times the distance of the quartiles */
} hu_result;

/* A call of a function that memory_profiler watched. */
typedef struct {
    hu_str  name;
    int64_t from_ns, to_ns; /* Unix time, as all that follow */
    double  from, to;       /* bytes */
    int64_t depth;
} hu_memory_call;

/* Host memory of a process over time; n_samples is 0 without. */
typedef struct {
    hu_str  command;
    int64_t n_samples, first_ns, last_ns, peak_ns;
    double  first, last, peak; /* bytes */
    HU_VEC(hu_memory_call) calls;
    int64_t n_children; /* processes that it started, of which there are samples */
    double  child_peak;
} hu_memory_curve;

/* One file. */
typedef struct {
    hu_str file, tool; /* "pytest-benchmark", "hyperfine", "memory_profiler" … */
    hu_str about;      /* commit or time of the run; "" */
    HU_VEC(hu_result) rows;
    int64_t         n_failed; /* benchmarks without a result */
    int64_t         n_bad;    /* lines of memory_profiler that are none */
    hu_memory_curve memory;
} hu_results;

#endif
