/* SPDX-License-Identifier: Apache-2.0
 * log_unit.c - "time 345.1" is a second's or a millisecond's: units lie a thousand apart, so rough evidence decides.
 *
 * In this order: other steps of the log that say their unit; steps per second, or samples of a step
 * beside samples per second; times of day.
 * Where none of them agrees with a unit, nothing is taken for one.
 */
#include "ingest/log_unit.h"

#include <math.h>

#include "base/stats.h"

#define SECOND INT64_C(1000000000)

static const double  units[] = {1, 1e-3, 1e-6};
static const double  ALIKE = 10;   /* times, that steps of one log may differ */
static const double  AGREES = 1.5; /* times, that what is measured another way may differ */
static const int64_t MANY = 20;    /* resolutions of a clock, for a difference that is to be trusted */

/* The unit in which `number` is `seconds`, within a factor; 0: none. */
static double unit_near(double seconds, double number, double factor)
{
    for (size_t i = 0; i < HU_COUNT(units); i++) {
        const double ratio = seconds / (number * units[i]);

        if (ratio <= factor && ratio >= 1 / factor)
            return units[i];
    }
    return 0;
}

/* Of those with a unit in seconds, or of those without one as they are printed; NaN: there are none. */
static double median_time(const hu_step_log *log, size_t first, bool is_bare, int64_t *room)
{
    size_t n = 0;

    for (size_t i = first; i < log->steps.n; i++)
        if (log->steps.at[i].is_bare == is_bare)
            room[n++] = log->steps.at[i].ns;
    return n ? hu_stats_of(room, n).median / (is_bare ? HU_LOG_BARE : 1e9) : (double)NAN;
}

/* Seconds that a step takes where its line tells steps per second, or samples of a step and per second; NaN. */
static double seconds_by_rate(const hu_step_log *log, size_t first, int64_t *room)
{
    size_t n = 0;

    for (size_t i = first; i < log->steps.n; i++) {
        const hu_log_step *s = &log->steps.at[i];
        const double       seconds = s->per_s > 0 ? 1 / s->per_s : s->batch / s->samples;

        if (s->is_bare && isfinite(seconds) && seconds > 0 && seconds < 1e6)
            room[n++] = llround(seconds * 1e9);
    }
    return n ? hu_stats_of(room, n).median / 1e9 : (double)NAN;
}

double hu_log_seconds_by_clock(const hu_step_log *log, size_t first, bool of_lines, int64_t *room)
{
    int64_t total = 0, steps = 0, resolution = SECOND;
    size_t  n = 0;

    for (size_t i = first; i < log->steps.n; i++)
        if (log->steps.at[i].at_ns % SECOND)
            resolution = SECOND / 1000;
    for (size_t i = first + 1; i < log->steps.n; i++) {
        const hu_log_step *a = &log->steps.at[i - 1], *b = &log->steps.at[i];
        const int64_t      apart = b->iteration - a->iteration, ns = b->at_ns - a->at_ns, more = of_lines ? 1 : apart;

        if (!a->at_ns || !b->at_ns || apart <= 0 || ns < 0 || a->run != b->run || a->epoch != b->epoch)
            continue;
        if (__builtin_add_overflow(total, ns, &total) || __builtin_add_overflow(steps, more, &steps))
            return NAN;
        room[n++] = ns / more;
    }
    if (n == 0 || total < MANY * resolution)
        return NAN;
    if (total / (int64_t)n >= MANY * resolution) /* evaluations between some of them do not count then */
        return hu_stats_of(room, n).median / 1e9;
    return (double)total / (double)steps / 1e9;
}

static hu_log_unit decide(const hu_step_log *log, size_t first, int64_t *room, double *unit_s)
{
    const double number = median_time(log, first, true, room);
    const double told = median_time(log, 0, false, room); /* of files before it, too */

    *unit_s = unit_near(told, number, ALIKE);
    if (*unit_s > 0)
        return HU_LOG_UNIT_TOLD;
    if ((*unit_s = unit_near(seconds_by_rate(log, first, room), number, AGREES)) > 0)
        return HU_LOG_UNIT_RATE;
    if ((*unit_s = unit_near(hu_log_seconds_by_clock(log, first, false, room), number, AGREES)) > 0)
        return HU_LOG_UNIT_CLOCK;
    if (first && log->unit_s > 0) { /* files before it of the same run */
        *unit_s = log->unit_s;
        return log->unit;
    }
    return HU_LOG_UNIT_UNKNOWN;
}

static void apply(hu_step_log *log, size_t from, size_t to, double unit_s)
{
    for (size_t i = from; i < to; i++) {
        hu_log_step *s = &log->steps.at[i];

        if (s->is_bare)
            s->ns = llround((double)s->ns * unit_s * (1e9 / HU_LOG_BARE));
    }
}

/* Of those with a unit, or of those without one. */
static void drop(hu_step_log *log, size_t first, bool is_bare)
{
    size_t n = first;

    for (size_t i = first; i < log->steps.n; i++)
        if (log->steps.at[i].is_bare != is_bare)
            log->steps.at[n++] = log->steps.at[i];
    log->steps.n = n;
}

bool hu_log_unit_find(hu_step_log *log, size_t first, double given_s, hu_arena *arena)
{
    const bool  was_unknown = log->unit == HU_LOG_UNIT_UNKNOWN;
    int64_t    *room;
    double      unit_s = given_s;
    size_t      n_bare = 0;
    hu_log_unit unit = HU_LOG_UNIT_GIVEN;

    for (size_t i = first; i < log->steps.n; i++)
        n_bare += log->steps.at[i].is_bare;
    if (n_bare == 0)
        return true;
    room = hu_arena_alloc(arena, log->steps.n * sizeof *room);
    if (!room)
        return false;
    if (!(unit_s > 0))
        unit = decide(log, first, room, &unit_s);
    if (n_bare < log->steps.n - first && !(unit_s > 0)) { /* two things that are not alike: the rarer one is no step */
        const bool are_few = n_bare < log->steps.n - first - n_bare;

        drop(log, first, are_few);
        if (are_few)
            return true;
    }
    if (unit_s > 0) {
        if (was_unknown)
            apply(log, 0, first, unit_s);
        apply(log, first, log->steps.n, unit_s);
    }
    log->unit = unit;
    log->unit_s = unit_s;
    return true;
}
