/* SPDX-License-Identifier: Apache-2.0
 * select.h - which part of a capture a question is asked about. */
#ifndef HU_ANALYZE_SELECT_H
#define HU_ANALYZE_SELECT_H

#include "base/interval.h"
#include "trace/trace.h"

/* When a slice counts as happening: the start of its launch for GPU work that has one, else its own start. */
int64_t hu_select_time(const hu_trace *trace, const hu_slices *slices, uint32_t slice);

/* Is `time_ns` in one of the sorted windows?  NULL means everything. */
bool hu_select_in(const hu_intervals *windows, int64_t time_ns);

/* The same for times that mostly ascend: *near, 0 at first, is the window that the next time is sought at. */
bool hu_select_in_near(const hu_intervals *windows, int64_t time_ns, size_t *near);

/* The index of the window that holds `time_ns`, or windows->n. */
size_t hu_select_find(const hu_intervals *windows, int64_t time_ns);

#endif
