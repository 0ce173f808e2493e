/* SPDX-License-Identifier: Apache-2.0
 * log_interval.c - lines that are many steps apart: both readings differ by as many times, so a coarse clock decides. */
#include "ingest/log_interval.h"

#include "base/stats.h"
#include "ingest/log_unit.h"

static const double AGREES = 1.3; /* times: less than the root of two, so that not both readings agree */

static bool agree(double a, double b)
{
    return a > 0 && b > 0 && a / b <= AGREES && b / a <= AGREES;
}

/* Steps from a line to the next; 1 where lines name each step, or there is one line. */
static int64_t steps_apart(const hu_step_log *log, size_t first, int64_t *room)
{
    size_t n = 0;

    for (size_t i = first + 1; i < log->steps.n; i++)
        if (log->steps.at[i].run == log->steps.at[i - 1].run && log->steps.at[i].iteration > log->steps.at[i - 1].iteration)
            room[n++] = log->steps.at[i].iteration - log->steps.at[i - 1].iteration;
    return n ? (int64_t)hu_stats_of(room, n).median : 1;
}

static void spread(hu_step_log *log, size_t first, int64_t apart)
{
    int64_t before = 0;

    for (size_t i = first; i < log->steps.n; i++) {
        hu_log_step  *s = &log->steps.at[i];
        const bool    is_next = i > first && s->run == s[-1].run && s->epoch == s[-1].epoch && s->iteration > before;
        const int64_t covers = is_next ? s->iteration - before : apart;

        before = s->iteration;
        s->covers = covers;
        s->ns = s->ns / covers > 0 ? s->ns / covers : 1;
    }
}

bool hu_log_clock_find(hu_step_log *log, size_t first, hu_arena *arena)
{
    int64_t     *room = hu_arena_alloc(arena, (log->steps.n + 1) * sizeof *room);
    const double seconds = room ? hu_log_seconds_by_clock(log, first, false, room) : 0;

    if (seconds > 0) /* not NaN */
        log->clock_s = seconds;
    return room != NULL;
}

bool hu_log_interval_find(hu_step_log *log, size_t first, hu_arena *arena)
{
    int64_t *room = hu_arena_alloc(arena, (log->steps.n + 1) * sizeof *room);
    int64_t  apart;
    size_t   n = 0;
    double   typical;

    if (!room)
        return false;
    apart = steps_apart(log, first, room);
    if (apart < 2 || first == log->steps.n)
        return true;
    for (size_t i = first; i < log->steps.n; i++)
        room[n++] = log->steps.at[i].ns;
    typical = hu_stats_of(room, n).median / 1e9;
    log->interval = log->steps.at[first].is_vague ? HU_LOG_INTERVAL_UNKNOWN : HU_LOG_INTERVAL_STEP;
    if (agree(hu_log_seconds_by_clock(log, first, false, room), typical))
        log->interval = HU_LOG_INTERVAL_STEP;
    else if (agree(hu_log_seconds_by_clock(log, first, true, room), typical)) {
        log->interval = HU_LOG_INTERVAL_LINE;
        spread(log, first, apart);
    }
    return true;
}
