/* SPDX-License-Identifier: Apache-2.0
 * log_parts.c - a part has a value for each line that tells it.
 *
 * Trap: DeepSpeed's breakdown has micro steps beside their sums: the sums count.
 */
#include "ingest/log_parts.h"

#include <math.h>

#include "ingest/line_numbers.h"
#include "ingest/step_lines.h"

enum { MOST_PARTS = 64, SUMMED = 3 /* forward, backward and step */ };

static const double MOST_SECONDS = 1e6; /* of a part; more is no time of one */

static bool is_sum_of_deepspeed(hu_str name)
{
    return hu_str_equal(name, HU_STR("fwd")) || hu_str_equal(name, HU_STR("bwd")) || hu_str_equal(name, HU_STR("step"));
}

/* The part of that name, a new one where there was none; NULL: one part too many, or *has_memory is false. */
static hu_log_part *part_of(hu_str name, hu_arena *arena, hu_step_log *log, bool *has_memory)
{
    hu_log_part *part = NULL;

    *has_memory = true;
    for (size_t i = 0; i < log->parts.n && !part; i++)
        if (hu_str_equal(log->parts.at[i].name, name))
            part = &log->parts.at[i];
    if (!part) {
        if (log->parts.n == MOST_PARTS)
            return NULL;
        name = hu_arena_copy(arena, name);
        *has_memory = name.p && hu_vec_push(arena, &log->parts, ((hu_log_part){.name = name}));
        part = *has_memory ? &log->parts.at[log->parts.n - 1] : NULL;
    }
    return part;
}

static bool add_part(hu_str name, int64_t ns, hu_arena *arena, hu_step_log *log)
{
    bool         has_memory;
    hu_log_part *part = hu_str_ends(name, HU_STR("_microstep")) ? NULL : part_of(name, arena, log, &has_memory);

    if (!part)
        return hu_str_ends(name, HU_STR("_microstep")) || has_memory;
    return hu_vec_push(arena, &part->ns, ns);
}

/* The next "name: milliseconds" of a line with "time (ms) |"; *at goes on behind it.  False: no more. */
static bool next_part(hu_str line, size_t *at, hu_str *name, int64_t *ns)
{
    while (*at < line.n) {
        const size_t from = hu_line_skip(line, *at, " \t");
        const char  *bar = memchr(line.p + from, '|', line.n - from);
        const size_t end = bar ? (size_t)(bar - line.p) : line.n;
        const char  *colon = end > from ? memchr(line.p + from, ':', end - from) : NULL;
        double       ms;

        *at = bar ? end + 1 : line.n;
        if (!colon)
            continue;
        *name = (hu_str){line.p + from, (size_t)(colon - line.p) - from};
        if (name->n && hu_line_number_from(line, hu_line_skip(line, from + name->n + 1, " "), &ms) &&
            ms < 1e3 * MOST_SECONDS) {
            *ns = llround(ms * 1e6);
            return true;
        }
    }
    return false;
}

size_t hu_log_parts_at(hu_str line)
{
    static const char key[] = "time (ms) |";
    const char       *at = line.n ? memmem(line.p, line.n, key, sizeof key - 1) : NULL;

    return at ? (size_t)(at - line.p) + sizeof key - 1 : 0;
}

bool hu_log_parts_timer(const hu_rank_time *timer, hu_arena *arena, hu_step_log *log)
{
    bool         has_memory;
    hu_log_part *part = part_of(timer->name, arena, log, &has_memory);

    if (!part)
        return has_memory;
    if (timer->least >= 0 && !hu_vec_push(arena, &part->spread_ns, timer->most - timer->least))
        return false;
    if (timer->least >= 0 && timer->slowest >= 0 && !hu_vec_push(arena, &part->slowest, timer->slowest))
        return false;
    return hu_vec_push(arena, &part->ns, timer->most);
}

bool hu_log_parts_line(hu_str line, size_t at, hu_parts_sum *sum, hu_arena *arena, hu_step_log *log)
{
    hu_str  name;
    int64_t ns;
    int     n = 0;

    *sum = (hu_parts_sum){0};
    while (next_part(line, &at, &name, &ns)) {
        sum->ns += is_sum_of_deepspeed(name) ? ns : 0;
        n += is_sum_of_deepspeed(name);
        if (!add_part(name, ns, arena, log))
            return false;
    }
    sum->is_whole = n == SUMMED;
    return true;
}

bool hu_log_parts_data(hu_str line, hu_bare_times *bare, hu_arena *arena, hu_step_log *log)
{
    static const char *const keys[] = {"data_time", "data time", "data (t)", "data"};
    const hu_log_step       *step = &log->steps.at[log->steps.n - 1];
    double                   seconds;
    bool                     is_bare;

    for (size_t i = 0; i < HU_COUNT(keys); i++)
        if (hu_line_seconds(line, keys[i], &seconds, &is_bare)) {
            if (seconds >= MOST_SECONDS)
                return true;
            if (is_bare && step->is_bare)
                return hu_vec_push(arena, bare, llround(seconds * HU_LOG_BARE));
            if (is_bare && step->unit_s > 0)
                seconds *= step->unit_s;
            return add_part(HU_STR("data"), llround(seconds * 1e9), arena, log);
        }
    return true;
}

/* The next "timing_s/NAME:SECONDS" of a line but that of the step; *at goes on behind it.  False: no more. */
static bool next_timing(hu_str line, size_t *at, hu_str *name, double *seconds)
{
    static const char key[] = "timing_s/";

    while (*at < line.n) {
        const char *found = memmem(line.p + *at, line.n - *at, key, sizeof key - 1);
        size_t      from, to, n;

        if (!found)
            break;
        from = to = (size_t)(found - line.p) + sizeof key - 1;
        while (to < line.n && hu_line_is_word(line.p[to]))
            to++;
        *at = to;
        *name = (hu_str){line.p + from, to - from};
        n = to < line.n && line.p[to] == ':' ? hu_line_number_from(line, to + 1, seconds) : 0;
        if (n && name->n && *seconds < MOST_SECONDS && !hu_str_equal(*name, HU_STR("step")))
            return true;
    }
    return false;
}

bool hu_log_parts_timings(hu_str line, hu_arena *arena, hu_step_log *log)
{
    size_t at = 0;
    hu_str name;
    double seconds;

    while (next_timing(line, &at, &name, &seconds))
        if (!add_part(name, llround(seconds * 1e9), arena, log))
            return false;
    return true;
}

bool hu_log_parts_end(const hu_bare_times *bare, hu_arena *arena, hu_step_log *log)
{
    for (size_t i = 0; i < bare->n && log->unit_s > 0; i++)
        if (!add_part(HU_STR("data"), llround((double)bare->at[i] * log->unit_s * (1e9 / HU_LOG_BARE)), arena, log))
            return false;
    return true;
}
