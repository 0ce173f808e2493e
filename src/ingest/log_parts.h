/* SPDX-License-Identifier: Apache-2.0
 * log_parts.h - what a log tells below its steps: forward, backward, loading of data …, under the log's own names. */
#ifndef HU_INGEST_LOG_PARTS_H
#define HU_INGEST_LOG_PARTS_H

#include "ingest/rank_times.h"
#include "trace/step_log.h"

/* Times of loading that say no unit, as hu_log_step has them; empty at the beginning of each file. */
typedef HU_VEC(int64_t) hu_bare_times;

/* Where the parts of a line with "time (ms) |" begin; 0: it is none. */
size_t hu_log_parts_at(hu_str line);

/* The others add to log->parts, with texts in `arena`, and return false when there is no memory. */

/* Forward, backward and step, as DeepSpeed tells them before its line of the step. */
typedef struct {
    int64_t ns;       /* 0: none of them */
    bool    is_whole; /* all three */
} hu_parts_sum;

/* Such a line, whose parts begin at `at`. */
bool hu_log_parts_line(hu_str line, size_t at, hu_parts_sum *sum, hu_arena *arena, hu_step_log *log);

/* A timer over all ranks: the slowest counts, as they wait for it. */
bool hu_log_parts_timer(const hu_rank_time *timer, hu_arena *arena, hu_step_log *log);

/* verl's timers, which stand on the line of their step. */
bool hu_log_parts_timings(hu_str line, hu_arena *arena, hu_step_log *log);

/* "data: 0.02" on the line of the step that was added last: without a unit it has that of the step, or waits in *bare. */
bool hu_log_parts_data(hu_str line, hu_bare_times *bare, hu_arena *arena, hu_step_log *log);

/* At the end of a file: times without a unit, where log->unit_s is known by then. */
bool hu_log_parts_end(const hu_bare_times *bare, hu_arena *arena, hu_step_log *log);

#endif
