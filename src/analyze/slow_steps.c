/* SPDX-License-Identifier: Apache-2.0
 * slow_steps.c - a mean over ordinary steps and a few that also evaluate or write a checkpoint is the length of neither.
 *
 * A step stands apart where it takes LONGER times the median, and is FAR times as far from it as steps usually are.  It is
 * told where at most one step in RARE is such, and where they lengthen the mean: by LEAST_SHARE of all time.
 *
 * What they do meanwhile is what takes longer in them than in the others, by at least half of the difference: the user's own
 * range first, since it has the name that the user gave it; then what the GPU does; then what the main thread does.  Calls
 * that wait for the GPU tell nothing of their own.
 */
#include "analyze/slow_steps.h"

#include "base/stats.h"

enum { FEWEST_STEPS = 5, RARE = 3 };

static const double LONGER = 1.5;
static const double FAR = 6;
static const double SIGMA = 1.4826; /* of a normal distribution, in median absolute deviations */
static const double LEAST_SHARE = 0.05;
static const double MOST = 0.5; /* of the difference */

typedef struct {
    const hu_ask       *ask;
    const hu_breakdown *times;
    hu_slow_steps      *out;
    bool               *is_slow; /* by step */
    size_t              others;
    double              excess_ns; /* of a slow step */
} finder;

static int64_t length_of(const hu_step *s)
{
    return s->period.end_ns - s->period.start_ns;
}

/* False: no memory. */
static bool mark_slow(finder *f)
{
    const hu_steps *steps = f->ask->steps;
    const double    median = steps->duration.median;
    int64_t        *far = hu_arena_alloc(f->ask->scratch, steps->n_counted * sizeof *far);
    double          limit;
    size_t          n = 0;

    f->is_slow = hu_arena_calloc(f->ask->scratch, steps->n, sizeof *f->is_slow);
    if (!far || !f->is_slow)
        return false;
    for (size_t i = 0; i < steps->n; i++)
        if (hu_step_counts(&steps->at[i])) {
            const double from = (double)length_of(&steps->at[i]) - median;

            far[n++] = (int64_t)(from < 0 ? -from : from);
        }
    limit = median + FAR * SIGMA * hu_stats_of(far, n).median;
    limit = limit > LONGER * median ? limit : LONGER * median;
    f->out->limit_ns = limit;
    for (size_t i = 0; i < steps->n; i++) {
        f->is_slow[i] = hu_step_counts(&steps->at[i]) && (double)length_of(&steps->at[i]) > limit;
        f->out->n += f->is_slow[i];
    }
    f->others = steps->n_counted - f->out->n;
    return true;
}

static void measure_lengths(finder *f)
{
    const hu_steps *steps = f->ask->steps;
    int64_t         longest = 0;
    double          slow = 0, all = 0;

    for (size_t i = 0; i < steps->n; i++) {
        const int64_t ns = length_of(&steps->at[i]);

        if (!hu_step_counts(&steps->at[i]))
            continue;
        all += (double)ns;
        slow += f->is_slow[i] ? (double)ns : 0;
        if (f->is_slow[i] && ns > longest) {
            longest = ns;
            f->out->longest = steps->at[i].number;
        }
    }
    f->out->slow_ns = slow / (double)f->out->n;
    f->out->typical_ns = (all - slow) / (double)f->others;
    f->excess_ns = f->out->slow_ns - f->out->typical_ns;
    f->out->share = all > 0 ? f->excess_ns * (double)f->out->n / all : 0;
}

/* Do they come every so many steps, with none missing at either end of the capture?  Steps that do not count may be any. */
static int64_t find_every(const finder *f)
{
    const hu_steps *steps = f->ask->steps;
    size_t          last = steps->n, every = 0;

    for (size_t i = 0; i < steps->n; i++) {
        if (!f->is_slow[i])
            continue;
        if (last < steps->n && every && i - last != every)
            return 0;
        if (last < steps->n)
            every = i - last;
        else if (f->out->n < 2)
            return 0;
        last = i;
    }
    if (last == steps->n || every == 0 || steps->n - last > every || last - (f->out->n - 1) * every >= every)
        return 0;
    return (int64_t)every;
}

/* What slow steps have more of than the others, of one time of a step; `part` is its place in hu_step_time. */
static double more_of(const finder *f, size_t part)
{
    double slow = 0, other = 0;

    for (size_t i = 0; i < f->times->n; i++) {
        double ns;

        memcpy(&ns, (const char *)&f->times->at[i] + part, sizeof ns);
        if (hu_step_counts(&f->ask->steps->at[i]))
            *(f->is_slow[i] ? &slow : &other) += ns;
    }
    return slow / (double)f->out->n - other / (double)f->others;
}

static void look_at_device(finder *f)
{
    static const struct {
        hu_excess excess;
        size_t    part;
    } parts[] = {{HU_EXCESS_COMPUTE, offsetof(hu_step_time, compute_ns)},
                 {HU_EXCESS_COMM, offsetof(hu_step_time, exposed_comm_ns)},
                 {HU_EXCESS_COPY, offsetof(hu_step_time, exposed_copy_ns)}};

    for (size_t i = 0; f->times->has_device && i < HU_COUNT(parts); i++) {
        const double more = more_of(f, parts[i].part);

        if (more >= MOST * f->excess_ns && more > f->out->what_ns) {
            f->out->excess = parts[i].excess;
            f->out->what_ns = more;
        }
    }
}

typedef struct {
    double  slow_ns, other_ns;
    int64_t until_ns; /* of the last one that was counted: what is inside of it is a part of it */
    bool    is_mark;
} by_name;

/* Times of each name on the main thread inside of steps; NULL: no memory. */
static by_name *sum_names(const finder *f, unsigned kinds)
{
    const hu_ask *ask = f->ask;
    const size_t  n_names = hu_trace_string_count(ask->trace) + 1;
    by_name      *sums = hu_arena_calloc(ask->scratch, n_names, sizeof *sums);
    hu_intervals  marks = {.at = hu_arena_alloc(ask->scratch, ask->steps->n * sizeof *marks.at), .n = ask->steps->n};

    if (!sums || !marks.at)
        return NULL;
    for (size_t i = 0; i < marks.n; i++) {
        marks.at[i] = ask->steps->at[i].marks;
        sums[ask->steps->at[i].name].is_mark = true;
    }
    for (size_t i = 0; i < n_names; i++)
        sums[i].until_ns = INT64_MIN;
    for (uint32_t k = 0; k < ask->s.n; k++) {
        const uint32_t i = ask->order[k];
        const int64_t  start = ask->s.start_ns[i], end = hu_ask_end(ask, i);
        by_name       *sum = &sums[ask->s.name[i]];
        size_t         at;

        if (ask->s.track[i] != ask->main_track || !hu_kind_in(ask->s.kind[i], kinds) || start < sum->until_ns)
            continue;
        at = hu_select_find(&marks, start);
        if (at == marks.n || end > marks.at[at].end_ns || !hu_step_counts(&ask->steps->at[at]))
            continue;
        sum->until_ns = end;
        *(f->is_slow[at] ? &sum->slow_ns : &sum->other_ns) += (double)(end - start);
    }
    return sums;
}

/* The name of which slow steps have most more, if that is most of the difference.  False: no memory. */
static bool look_at_names(finder *f, unsigned kinds, hu_excess excess)
{
    const by_name *sums = sum_names(f, kinds);
    double         most = MOST * f->excess_ns;

    for (size_t i = 1; sums && i <= hu_trace_string_count(f->ask->trace); i++) {
        const double more = sums[i].slow_ns / (double)f->out->n - sums[i].other_ns / (double)f->others;

        if (sums[i].slow_ns <= 0 || more < most || sums[i].is_mark || f->ask->names[i] & HU_NAME_SYNC ||
            hu_steps_is_mark(f->ask->steps, hu_trace_text(f->ask->trace, (uint32_t)i)))
            continue;
        most = f->out->what_ns = more;
        f->out->excess = excess;
        f->out->what = hu_trace_text(f->ask->trace, (uint32_t)i);
    }
    return sums != NULL;
}

int hu_slow_steps_find(const hu_ask *ask, const hu_breakdown *times, hu_slow_steps *out, hu_error *err)
{
    const hu_steps *steps = ask->steps;
    finder          f = {.ask = ask, .times = times, .out = out};

    *out = (hu_slow_steps){.what = HU_STR("")};
    /* prompts of a serving engine differ in length, and its passes by what they do */
    if (steps->source == HU_STEPS_NONE || steps->is_engine || steps->n_counted < FEWEST_STEPS)
        return 0;
    if (!mark_slow(&f))
        return hu_fail_memory(err);
    if (out->n)
        measure_lengths(&f);
    if (out->n == 0 || RARE * out->n > steps->n_counted || out->share < LEAST_SHARE) {
        *out = (hu_slow_steps){.what = HU_STR("")};
        return 0;
    }
    out->every = find_every(&f);
    if (!look_at_names(&f, HU_BIT(USER), HU_EXCESS_RANGE))
        return hu_fail_memory(err);
    if (out->excess == HU_EXCESS_UNKNOWN)
        look_at_device(&f);
    if (out->excess == HU_EXCESS_UNKNOWN && !look_at_names(&f, HU_KINDS_HOST & ~HU_BIT(USER), HU_EXCESS_HOST))
        return hu_fail_memory(err);
    return 0;
}

const char *hu_excess_name(hu_excess excess)
{
    static const char *const names[HU_EXCESS_COUNT] = {"unknown", "range", "compute", "communication", "copies", "host"};

    return names[excess];
}
