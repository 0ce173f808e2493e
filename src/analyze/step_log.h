/* SPDX-License-Identifier: Apache-2.0
 * step_log.h - what the times of a log say: the typical step, its parts, slow ones, a change, steps computed twice. */
#ifndef HU_ANALYZE_STEP_LOG_H
#define HU_ANALYZE_STEP_LOG_H

#include "analyze/bandwidth.h"
#include "analyze/inspector.h"
#include "analyze/log_calls.h"
#include "analyze/log_hang.h"
#include "analyze/log_tables.h"
#include "base/stats.h"
#include "trace/step_log.h"

typedef enum {
    HU_LOG_OTHER,
    HU_LOG_FORWARD,
    HU_LOG_BACKWARD,
    HU_LOG_OPTIMIZER,
    HU_LOG_COMM,
    HU_LOG_DATA,
    HU_LOG_ONCE, /* before the first step */
} hu_log_role;

typedef struct {
    hu_str      name;
    hu_log_role role;
    const char *inside;        /* the part that contains it, "forward" …; NULL: it is a part of the step itself */
    hu_stats    stats;         /* ns; of the slowest rank where all are told */
    hu_stats    spread;        /* ns between the fastest rank and the slowest; n is 0 where that is not told */
    int64_t     slowest;       /* the rank that is it most often; -1 not told */
    double      slowest_share; /* of the lines that tell it */
    double      share;         /* of the typical step, by medians; NaN: once, or without steps */
} hu_log_share;

typedef struct hu_log_answer hu_log_answer;

/* Of lines that tell throughput and no time. */
typedef struct {
    hu_log_rate_kind kind; /* of those that it tells, the most telling */
    const hu_log_answer
          *times; /* what steps would take that have HU_LOG_RATE_WORK of it each; NULL: there are no such lines */
    bool   is_of_gpu;
    double steps_per_s, samples_per_s; /* medians of the lines, or the mean of the run at its end; NaN: not printed */
    double running, waiting, cache;    /* of a server: medians of requests, and of the share of its KV cache; NaN */
} hu_rates_answer;

#define HU_LOG_RATE_WORK 1e6

/* A rate of the same work in a time of `times`. */
static inline double hu_log_rate_of(double ns)
{
    return HU_LOG_RATE_WORK * 1e9 / ns;
}

struct hu_log_answer {
    bool     has_no_unit; /* what is called ns of steps below is not: it is the printed number times HU_LOG_BARE */
    hu_stats step;        /* ns of a step, by lines, without the warm-up */
    int64_t  n_steps;     /* steps that the lines stand for */
    int64_t  covers;      /* steps of a line, typically */
    double   total_ns;    /* of all lines, warm-up included */
    double   run_ns;      /* the same, with the steps between the lines taken for typical ones */
    int64_t  run_steps;
    size_t   n_runs;     /* 1, and one more for each restart */
    bool     has_warmup; /* the first line took much longer, and is left out */
    int64_t  warmup_ns;

    size_t             n_slow;  /* lines above SLOW times the median */
    double             slow_ns; /* what they took above it */
    const hu_log_step *slowest;
    int64_t            slow_period; /* steps between them, where they are regular; else 0 */

    bool    has_change; /* a level that stays */
    int64_t change_at;  /* the iteration from which on it is */
    double  before_ns, after_ns;
    bool    has_growth; /* or a straight line: ns that each step takes more than the one before, from first_ns to last_ns */
    double  growth_ns, first_ns, last_ns;
    int64_t growth_from;  /* the iteration of first_ns */
    bool    batch_varies; /* so times of steps are not compared with each other */

    int64_t n_repeated; /* steps computed again after a restart */
    double  repeated_ns;

    size_t             n_ranks;      /* that are compared; 0 without a slow one */
    const hu_log_rank *slow_rank;    /* of log->ranks or log->rank_files; NULL: none, or not told */
    double             slow_rank_by; /* its median by that of the others, at least 1 */

    double batch, samples, tokens, tflops; /* medians; NaN not told.  samples: per second */

    HU_VEC(hu_log_share) parts; /* the longest first, those of another behind it */
    hu_stats            bus;    /* bits per second that ranks printed of a test of their own; n is 0 without */
    hu_log_hang         hang;
    hu_calls_answer     calls;
    hu_rates_answer     rates;
    hu_op_answer        ops;
    hu_flops_answer     flops;
    hu_inspector_answer inspector;
    HU_VEC(hu_bench_answer) benches; /* of tests of collectives, as they are in the log */
    double rest_ns;                  /* of the typical step, in no part; NaN: there are no parts, or they overlap */
};

/* Borrows texts from `log`.  False: no memory. */
bool hu_step_log_measure(const hu_step_log *log, hu_arena *arena, hu_log_answer *out);

#endif
