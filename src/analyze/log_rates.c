/* SPDX-License-Identifier: Apache-2.0
 * log_rates.c - a rate is the inverse of a time, so what is known of times of steps is asked of rates, too. */
#include "analyze/log_rates.h"

#include <math.h>

/* NaN of none.  False: no memory. */
static bool find_median(const int64_t *values, size_t n, hu_arena *arena, double *out)
{
    int64_t *room = hu_arena_alloc(arena, (n + 1) * sizeof *room);

    *out = NAN;
    if (!room)
        return false;
    if (n == 0)
        return true;
    memcpy(room, values, n * sizeof *room);
    *out = hu_stats_of(room, n).median;
    return true;
}

/* A kind that most lines tell. */
static bool is_told(const hu_log_rates *rates, int kind)
{
    size_t n = 0;

    for (size_t i = 0; i < rates->at.n; i++)
        n += rates->at.at[i].per_s[kind] > 0;
    return 2 * n > rates->at.n;
}

/* False: no memory. */
static bool measure_kind(const hu_log_rates *rates, int kind, hu_arena *arena, hu_log_answer **out)
{
    hu_step_log log = {.writer = HU_STR("")};

    *out = hu_arena_calloc(arena, 1, sizeof **out);
    if (!*out)
        return false;
    for (size_t i = 0; i < rates->at.n; i++) {
        const hu_log_rate *r = &rates->at.at[i];
        const double       ns = r->per_s[kind] > 0 ? hu_log_rate_of(r->per_s[kind]) : 0;
        const hu_log_step  step = hu_log_step_of(r->iteration, ns < 9e18 ? llround(ns) : 0, r->line);

        log.has_falls |= log.steps.n && step.iteration <= log.steps.at[log.steps.n - 1].iteration;
        if (step.ns > 0 && !hu_vec_push(arena, &log.steps, step))
            return false;
    }
    return hu_step_log_measure(&log, arena, *out);
}

bool hu_log_rates_measure(const hu_log_rates *rates, hu_arena *arena, hu_rates_answer *out)
{
    hu_log_answer *times;

    *out = (hu_rates_answer){.steps_per_s = rates->steps_per_s > 0 ? rates->steps_per_s : (double)NAN,
                             .samples_per_s = rates->samples_per_s > 0 ? rates->samples_per_s : (double)NAN};
    if (!find_median(rates->running.at, rates->running.n, arena, &out->running) ||
        !find_median(rates->waiting.at, rates->waiting.n, arena, &out->waiting) ||
        !find_median(rates->cache.at, rates->cache.n, arena, &out->cache))
        return false;
    out->cache /= 1e4;
    for (int k = HU_LOG_RATE_KINDS - 1; k >= 0 && rates->at.n; k--) {
        if (!is_told(rates, k))
            continue;
        if (!measure_kind(rates, k, arena, &times))
            return false;
        if (times->step.n == 0)
            continue;
        out->kind = (hu_log_rate_kind)k;
        out->times = times;
        out->is_of_gpu = rates->at.at[rates->at.n - 1].is_of_gpu[k];
        if (k == HU_LOG_RATE_STEPS)
            out->steps_per_s = hu_log_rate_of(times->step.median);
        if (k == HU_LOG_RATE_SAMPLES)
            out->samples_per_s = hu_log_rate_of(times->step.median);
    }
    return true;
}
