/* SPDX-License-Identifier: Apache-2.0
 * energy_series.c - see energy_series.h for what is claimed.
 *
 * A driver brings its counter up to date less often than it is asked: a stretch goes from one change of the counter to the
 * next, so that energy is not taken for that of a moment in which nothing was added.  When in the time since the sample
 * before a change was made is not known: only a device that was idle then, too, was idle all the time.
 */
#include "analyze/energy_series.h"

#include <math.h>

enum { FEWEST_SAMPLES = 10 };

const hu_energy_use hu_energy_use_unknown = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* How many samples come no later. */
static size_t samples_until(const hu_energy_series *e, int64_t ns)
{
    size_t low = 0, high = e->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (e->at[middle].ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The counter at a time, on the line between the samples before and after it. */
static double energy_at(const hu_energy_series *e, int64_t ns)
{
    const hu_energy_sample *before, *after;
    const size_t            low = samples_until(e, ns);

    if (low > 0 && e->at[low - 1].ns == ns)
        return e->at[low - 1].joules;
    if (low == 0 || low == e->n)
        return NAN;
    before = &e->at[low - 1];
    after = &e->at[low];
    if (after->ns - before->ns > e->hold_ns || after->joules < before->joules)
        return NAN;
    return before->joules + (after->joules - before->joules) * (double)(ns - before->ns) / (double)(after->ns - before->ns);
}

double hu_energy_all(const hu_energy_series *e)
{
    for (size_t i = 1; i < e->n; i++)
        if (e->at[i].joules < e->at[i - 1].joules)
            return NAN;
    return e->n > 1 ? e->at[e->n - 1].joules - e->at[0].joules : NAN;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Does a step count, and is its energy known? */
static bool is_known(const hu_energy_series *e, const hu_step *step)
{
    return hu_step_counts(step) && step->period.end_ns > step->period.start_ns &&
           !isnan(energy_at(e, step->period.start_ns)) && !isnan(energy_at(e, step->period.end_ns));
}

/* The last of the steps from `i` on that are known and follow each other without a gap. */
static size_t last_of_row(const hu_energy_series *e, const hu_steps *steps, size_t i)
{
    while (i + 1 < steps->n && is_known(e, &steps->at[i + 1]) &&
           steps->at[i + 1].period.start_ns == steps->at[i].period.end_ns)
        i++;
    return i;
}

/*
 * Samples are farther apart than short steps are long: rows of steps are measured, and together they need enough samples.
 * Half of the steps must be known: the first begin before the first sample where the driver is slow to start.
 */
bool hu_energy_find_steps(const hu_energy_series *e, const hu_steps *steps, hu_arena *arena, hu_energy_steps *out)
{
    size_t samples = 0;

    *out = (hu_energy_steps){0};
    if (!steps || steps->source == HU_STEPS_NONE || isnan(hu_energy_all(e)))
        return true;
    for (size_t i = 0, last; i < steps->n; i = last + 1) {
        int64_t start, end;

        last = i;
        if (!is_known(e, &steps->at[i]))
            continue;
        last = last_of_row(e, steps, i);
        start = steps->at[i].period.start_ns;
        end = steps->at[last].period.end_ns;
        out->joules += energy_at(e, end) - energy_at(e, start);
        out->n += (int64_t)(last - i + 1);
        samples += samples_until(e, end) - samples_until(e, start);
        if (!hu_intervals_add(arena, &out->rows, start, end))
            return false;
    }
    out->is_enough = out->n > 0 && 2 * (size_t)out->n >= steps->n_counted && samples >= FEWEST_SAMPLES;
    return hu_intervals_unite(arena, &out->rows);
}

bool hu_energy_find_span(const hu_energy_series *e, const hu_intervals *work, hu_arena *arena, hu_energy_steps *out)
{
    int64_t start, end;

    *out = (hu_energy_steps){0};
    if (work->n == 0 || e->n < 2 || isnan(hu_energy_all(e)))
        return true;
    start = work->at[0].start_ns > e->at[0].ns ? work->at[0].start_ns : e->at[0].ns;
    end = work->at[work->n - 1].end_ns < e->at[e->n - 1].ns ? work->at[work->n - 1].end_ns : e->at[e->n - 1].ns;
    if (end <= start || isnan(energy_at(e, start)) || isnan(energy_at(e, end)))
        return true;
    out->joules = energy_at(e, end) - energy_at(e, start);
    return hu_intervals_add(arena, &out->rows, start, end);
}

/* ---- what it went into ------------------------------------------------------------------------------------------- */

/* A stretch of the time that is split up. */
typedef struct {
    double ns, joules, idle_ns, exposed_ns;
    bool   is_idle, is_exposed; /* for certain all the time */
    bool   is_whole;            /* no part of it lies outside of the window */
} stretch;

static double common(const hu_intervals *set, int64_t from, int64_t to)
{
    const hu_interval  one = {from, to};
    const hu_intervals window = {.at = (hu_interval *)&one, .n = 1, .cap = 1};
    size_t             low = 0, high = set->n;

    while (low < high) { /* the first that ends behind `from` */
        const size_t middle = low + (high - low) / 2;

        if (set->at[middle].end_ns <= from)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < set->n && set->at[high].start_ns < to;)
        high++;
    const hu_intervals near = {.at = set->at + low, .n = high - low, .cap = high - low};

    return (double)hu_intervals_common(&near, &window);
}

/* The part of a stretch between two changes, [from, to), that lies in a window.  `before`: the sample before `from`. */
static stretch cut(const hu_energy_series *e, const hu_interval *window, int64_t from, int64_t to, int64_t before,
                   const hu_intervals *work, const hu_intervals *exposed)
{
    const int64_t start = from > window->start_ns ? from : window->start_ns;
    const int64_t end = to < window->end_ns ? to : window->end_ns;
    stretch       s = {.ns = (double)(end - start)};

    s.joules = energy_at(e, end) - energy_at(e, start);
    s.idle_ns = s.ns - common(work, start, end);
    s.exposed_ns = common(exposed, start, end);
    s.is_idle = !(common(work, before, to) > 0);
    s.is_exposed = common(exposed, before, to) >= (double)(to - before);
    s.is_whole = start == from && end == to;
    return s;
}

static void add(hu_energy_use *u, const stretch *s)
{
    const double watts = isnan(u->idle_watts) ? 0 : u->idle_watts * 1e-9; /* joules in a ns */
    const double mean = s->joules * s->idle_ns / s->ns;
    const double low = s->is_idle ? s->joules : fmin(watts * s->idle_ns, mean);
    const double most = s->ns > s->idle_ns ? s->exposed_ns * (s->joules - low) / (s->ns - s->idle_ns) : 0;

    u->ns += s->ns;
    u->joules += s->joules;
    u->idle_ns += s->idle_ns;
    u->exposed_ns += s->exposed_ns;
    u->idle_low += low;
    u->idle_high += s->is_idle ? s->joules : mean;
    u->exposed_low += s->is_exposed ? most : fmin(watts * s->exposed_ns, most);
    u->exposed_high += most;
}

/* First the least idle power is found, then it bounds the rest. */
static void each(const hu_energy_series *e, const hu_interval *window, const hu_intervals *work, const hu_intervals *exposed,
                 bool is_first_pass, hu_energy_use *u)
{
    size_t from = samples_until(e, window->start_ns), to;

    from = from ? from - 1 : 0;
    while (from > 0 && e->at[from - 1].joules >= e->at[from].joules) /* back to where it changed last */
        from--;
    for (; from + 1 < e->n && e->at[from].ns < window->end_ns; from = to) {
        int64_t before;
        stretch s;

        for (to = from + 1; to + 1 < e->n && e->at[to].joules <= e->at[from].joules;)
            to++;
        if (e->at[to].ns <= window->start_ns || e->at[to].ns == e->at[from].ns)
            continue;
        before = from ? e->at[from - 1].ns : 2 * e->at[0].ns - e->at[1].ns;
        s = cut(e, window, e->at[from].ns, e->at[to].ns, before, work, exposed);
        if (!is_first_pass)
            add(u, &s);
        else if (s.is_idle && s.is_whole && s.joules > 0)
            u->idle_watts = fmin(isnan(u->idle_watts) ? INFINITY : u->idle_watts, s.joules / s.ns * 1e9);
    }
}

hu_energy_use hu_energy_split(const hu_energy_series *e, const hu_intervals *time, const hu_intervals *work,
                              const hu_intervals *exposed)
{
    hu_energy_use u = {.idle_watts = NAN};

    for (size_t i = 0; i < time->n; i++)
        each(e, &time->at[i], work, exposed, true, &u);
    for (size_t i = 0; i < time->n; i++)
        each(e, &time->at[i], work, exposed, false, &u);
    return u.ns > 0 ? u : hu_energy_use_unknown;
}
