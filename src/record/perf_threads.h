/* SPDX-License-Identifier: Apache-2.0
 * perf_threads.h - threads by number, which is used again when one ends, and the states that follow each other. */
#ifndef HU_RECORD_PERF_THREADS_H
#define HU_RECORD_PERF_THREADS_H

#include "record/perf_read.h"

/* The thread that has this number now, made when it is new; UINT32_MAX without memory. */
uint32_t hu_perf_threads_find(hu_perf_files *f, uint32_t pid, uint32_t tid, int64_t time_ns);

/* A new thread, though its number was used before.  UINT32_MAX without memory. */
uint32_t hu_perf_threads_new(hu_perf_files *f, uint32_t pid, uint32_t tid, int64_t time_ns);

/* The thread is in `state` from now on; nothing is noted when it was before.  False without memory. */
bool hu_perf_threads_change(hu_perf_files *f, uint32_t thread, int64_t time_ns, uint32_t cpu, hu_task_state state);

bool hu_perf_threads_name(hu_perf_files *f, uint32_t thread, hu_str name);

/* Ends what lasts, at the time of the last record. */
bool hu_perf_threads_finish(hu_perf_files *f, int64_t end_ns);

#endif
