/* SPDX-License-Identifier: Apache-2.0
 * sums.h - the summaries of `nsys stats`, by its names and definitions, of any trace.
 *
 * Columns and definitions: the reports of Nsight Systems' user guide.  Percentages are of the listed total, not of time.
 */
#ifndef HU_ANALYZE_SUMS_H
#define HU_ANALYZE_SUMS_H

#include "analyze/naming.h"
#include "base/arena.h"
#include "base/stats.h"
#include "trace/trace.h"

/* What is in the last columns of a report. */
typedef enum {
    HU_SUMS_NAME,
    HU_SUMS_OPERATION,
    HU_SUMS_CATEGORY_OPERATION,
    HU_SUMS_STYLE_RANGE,
    HU_SUMS_PUSHED, /* ranges that were pushed and popped */
    HU_SUMS_STARTED /* ranges that were started and ended, in any thread */
} hu_sums_label;

typedef struct {
    const char   *key, *title; /* "cuda_api_sum", "CUDA API Summary" */
    const char   *count;       /* heading of the count: "Num Calls" */
    unsigned      kinds;       /* bits of hu_kind */
    hu_sums_label label;
    bool          in_bytes;  /* sizes, where others are times */
    bool          on_demand; /* only where it is asked for by name */
    unsigned      takes;     /* arguments: bits of HU_NAMING_… */
} hu_sums_report;

extern const hu_sums_report hu_sums_reports[]; /* those on demand last */
extern const size_t         hu_sums_n_reports;

const hu_sums_report *hu_sums_find(hu_str key); /* NULL: there is no such report */

/* "Memcpy HtoD (Pageable -> Device)" is "[CUDA memcpy Host-to-Device]" there. */
hu_str hu_sums_operation(hu_str name, hu_kind kind);

typedef struct {
    hu_str   name, group; /* group: style or category, "" where the report has none */
    hu_stats stats;       /* ns or bytes */
} hu_sum;

typedef struct {
    hu_sum *at; /* the largest total first, then by name */
    size_t  n;
    int64_t total;
} hu_sums;

/* Over all traces; texts live as long as these, `naming` and `arena`.  False: no memory. */
bool hu_sums_measure(const hu_sums_report *report, hu_trace *const *traces, size_t n, hu_naming *naming, hu_arena *arena,
                     hu_sums *out);

#endif
