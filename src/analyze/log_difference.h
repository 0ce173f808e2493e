/* SPDX-License-Identifier: Apache-2.0
 * log_difference.h - two logs: steps, their timers, rates and tests of collectives that both have. */
#ifndef HU_ANALYZE_LOG_DIFFERENCE_H
#define HU_ANALYZE_LOG_DIFFERENCE_H

#include "analyze/step_log.h"

typedef enum { HU_LOG_CHANGE_NS, HU_LOG_CHANGE_RATE, HU_LOG_CHANGE_BANDWIDTH } hu_log_change_kind;

typedef struct {
    hu_log_change_kind kind;  /* bandwidth: 1e9 bytes per second */
    hu_str             name;  /* "step", "samples/s", a timer, "all_reduce_perf" */
    int64_t            bytes; /* of a test; 0 */
    double             a, b;
} hu_log_change;

enum { HU_LOG_OBSTACLES = 6, HU_LOG_OBSTACLE_BYTES = 200 };

typedef struct {
    HU_VEC(hu_log_change) at;  /* the step, rates, timers, tests */
    bool   has_step, is_clear; /* is_clear: by more than the lines of each vary (two standard errors) */
    char   obstacles[HU_LOG_OBSTACLES][HU_LOG_OBSTACLE_BYTES]; /* why something is not compared, or is to be borne in mind */
    size_t n_obstacles;
} hu_log_difference;

/* Borrows from all.  False: no memory. */
bool hu_log_difference_measure(const hu_step_log *log[2], const hu_log_answer *answer[2], hu_arena *arena,
                               hu_log_difference *out);

#endif
