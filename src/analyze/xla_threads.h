/* SPDX-License-Identifier: Apache-2.0
 * xla_threads.h - JAX and TensorFlow compute on threads of XLA's own, and their profiler does not record the call in which
 * another thread waits for them: a hole there, while they work, is that wait. */
#ifndef HU_ANALYZE_XLA_THREADS_H
#define HU_ANALYZE_XLA_THREADS_H

#include "base/interval.h"
#include "trace/trace.h"

/* When threads of the host other than one, a track, are in operators or ranges of XLA's.  Empty for traces of other
   profilers.  False: no memory. */
bool hu_xla_threads_find(const hu_trace *trace, uint32_t but_track, hu_arena *arena, hu_intervals *out);

/* The time of [start, end) that they work in. */
int64_t hu_xla_threads_in(const hu_intervals *work, int64_t start_ns, int64_t end_ns);

/* Does a function or frame of this name give a value of JAX to Python, and waits until it is computed? */
bool hu_xla_threads_is_look(hu_str name);

/* Is it a wait for them: most of the time? */
static inline bool hu_xla_threads_are_awaited(const hu_intervals *work, int64_t start_ns, int64_t end_ns)
{
    return work->n && 2 * hu_xla_threads_in(work, start_ns, end_ns) >= end_ns - start_ns;
}

#endif
