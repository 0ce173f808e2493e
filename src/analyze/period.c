/* SPDX-License-Identifier: Apache-2.0
 * period.c - steps without anybody's annotation: the sequence of names repeats.
 *
 * Take the kernels of the busiest stream in order (or, without a device, the outermost operators of the busiest thread)
 * as a sequence of names.  Something that happens once in each step occurs a few times at equal distance, so rare
 * names propose the period: the median distance between their occurrences.  A proposal is worth the share of positions
 * whose name equals the name one period later.  A layer that repeats inside a step scores less than the step as long as
 * the step contains anything else; of equal scores the longer period wins, because its name is rarer.
 *
 * Where neither repeats, the calls of the system and of MPI that the job's main thread makes are such a sequence too.
 */
#include "analyze/period.h"

#include <stdlib.h>

#include "analyze/main_thread.h"
#include "analyze/thread_states.h"
#include "analyze/select.h"
#include "base/map.h"
#include "base/stats.h"

enum {
    FEWEST_REPEATS = 3,
    FEWEST_PERIOD = 4, /* names; shorter patterns are loops, not steps */
    FEWEST_CALLS = 2,  /* of calls of the system, of which short ones are not recorded */
    LEAST_PART = 1000, /* of the thread's life: shorter calls of the system are chance, or its beginning */
    MOST_PROPOSALS = 24,
};

static const double LEAST_MATCH = 0.8;

typedef struct {
    const uint32_t *slice; /* in order */
    size_t          n;
    hu_slices       s;
    const hu_trace *trace;
    size_t          fewest; /* names of a period */
} sequence;

static uint32_t name_at(const sequence *q, size_t i)
{
    return q->s.name[q->slice[i]];
}

/* The track with the most slices that qualify, or the only one that is looked at. */
static int pick_sequence(const hu_trace *trace, unsigned kinds, bool outermost, uint32_t only, int64_t least_ns,
                         hu_arena *arena, sequence *out, hu_error *err)
{
    const uint32_t *order = hu_trace_order(trace);
    size_t          n_tracks, best = 0;
    const hu_track *tracks = hu_trace_tracks(trace, &n_tracks);
    uint32_t       *list = NULL;

    *out = (sequence){.s = hu_trace_slices(trace), .trace = trace, .fewest = FEWEST_PERIOD};
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t t = 0; t < n_tracks; t++) {
            size_t n = 0;

            if ((pass == 1 && t != best) || (only != HU_NONE && t != only))
                continue;
            for (uint32_t k = 0; k < tracks[t].count; k++) {
                const uint32_t i = order[tracks[t].first + k];

                if (!hu_kind_in(out->s.kind[i], kinds) || (outermost && out->s.parent[i] != HU_NONE) ||
                    (out->s.kind[i] == HU_KIND_OS_CALL && out->s.dur_ns[i] < least_ns))
                    continue;
                if (pass == 1)
                    list[n] = i;
                n++;
            }
            if (n > out->n) {
                out->n = n;
                best = t;
            }
        }
        if (out->n == 0)
            return 0;
        if (pass == 0 && !(list = hu_arena_alloc(arena, out->n * sizeof *list)))
            return hu_fail_memory(err);
    }
    out->slice = list;
    return 0;
}

/* Of the positions from `from` on, up to `to`. */
static double match(const sequence *q, size_t from, size_t to, size_t period)
{
    size_t equal = 0;

    for (size_t i = from; i + period < to; i++)
        equal += name_at(q, i) == name_at(q, i + period);
    return (double)equal / (double)(to - from - period);
}

typedef struct {
    uint32_t name, count;
    size_t   first; /* place in the sequence: ids of names differ between copies of one trace */
} rare;

static int by_count(const void *left, const void *right)
{
    const rare *a = left, *b = right;

    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* Names that occur often enough, the rarest first. */
static int list_rare(const sequence *q, hu_arena *arena, rare **out, size_t *n, hu_error *err)
{
    hu_map    seen;
    uint32_t *count = NULL;
    HU_VEC(rare) list = {0};

    if (!hu_map_init(&seen, arena, 0))
        return hu_fail_memory(err);
    for (size_t i = 0; i < q->n; i++) {
        count = hu_map_put(&seen, name_at(q, i));
        if (!count)
            return hu_fail_memory(err);
        if (*count == HU_MAP_NONE) {
            *count = (uint32_t)list.n;
            if (!hu_vec_push(arena, &list, ((rare){name_at(q, i), 0, i})))
                return hu_fail_memory(err);
        }
        list.at[*count].count++;
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_count);
    *out = list.at;
    *n = list.n;
    return 0;
}

/* Where `name` occurs; the median distance is the period that it proposes. */
static size_t occurrences(const sequence *q, uint32_t name, int64_t *at)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n; i++)
        if (name_at(q, i) == name)
            at[n++] = (int64_t)i;
    return n;
}

/* `at`, `gap`: room for as many numbers as the name has occurrences. */
static int try_name(const sequence *q, const rare *r, int64_t *at, int64_t *gap, hu_arena *arena, hu_period *best,
                    size_t *best_period, hu_error *err)
{
    const size_t n = occurrences(q, r->name, at);
    size_t       period;
    double       score;

    for (size_t i = 1; i < n; i++)
        gap[i - 1] = at[i] - at[i - 1];
    period = (size_t)(hu_stats_of(gap, n - 1).median + 0.5);
    if (period < q->fewest || period * 2 > q->n)
        return 0;
    /* a program's own beginning and end make calls too: what counts is between the first anchor and the last */
    if (q->fewest == FEWEST_CALLS && (size_t)(at[n - 1] - at[0]) > 2 * period && (size_t)(at[n - 1] - at[0]) * 2 >= q->n)
        score = match(q, (size_t)at[0], (size_t)at[n - 1] + 1, period);
    else
        score = match(q, 0, q->n, period);
    if (score < LEAST_MATCH || score <= best->confidence)
        return 0;
    *best = (hu_period){.anchor = r->name, .confidence = score};
    *best_period = period;
    best->starts_ns = hu_arena_alloc(arena, n * sizeof *best->starts_ns);
    if (!best->starts_ns)
        return hu_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        /* an anchor that comes early belongs to something else */
        if (best->n_starts && (size_t)(at[i] - at[i - 1]) * 2 < period)
            continue;
        best->starts_ns[best->n_starts++] = hu_select_time(q->trace, &q->s, q->slice[at[i]]);
    }
    for (size_t i = 1; i < best->n_starts; i++)
        if (best->starts_ns[i] <= best->starts_ns[i - 1])
            *best = (hu_period){0}; /* launched out of order: no steps of the host */
    return 0;
}

/* The best period of one sequence; none when nothing repeats in it. */
static int measure_sequence(const sequence *q, hu_arena *arena, hu_period *out, hu_error *err)
{
    hu_period best = {0};
    rare     *names = NULL;
    size_t    n = 0, period = 0, tried = 0;
    int       rc = q->n ? list_rare(q, arena, &names, &n, err) : 0;

    for (size_t i = 0; rc == 0 && i < n && tried < MOST_PROPOSALS; i++) {
        int64_t *at;

        if (names[i].count < FEWEST_REPEATS)
            continue;
        tried++;
        at = hu_arena_grow(arena, NULL, 2 * (size_t)names[i].count * sizeof *at);
        rc = at ? try_name(q, &names[i], at, at + names[i].count, arena, &best, &period, err) : hu_fail_memory(err);
        hu_arena_drop(arena, at);
    }
    if (rc == 0)
        *out = best.n_starts > FEWEST_REPEATS ? best : (hu_period){0};
    return rc;
}

int hu_period_measure(const hu_trace *trace, hu_arena *arena, hu_period *out, hu_error *err)
{
    const unsigned calls = HU_BIT(OS_CALL) | HU_BIT(MPI);
    sequence       q;
    hu_period      best = {0};
    int            rc = pick_sequence(trace, HU_KINDS_DEVICE, false, HU_NONE, 0, arena, &q, err);
    const bool     has_device = q.n > 0;

    if (rc == 0 && !has_device)
        rc = pick_sequence(trace, HU_BIT(CPU_OP) | HU_BIT(USER), true, HU_NONE, 0, arena, &q, err);
    if (rc == 0)
        rc = measure_sequence(&q, arena, &best, err);
    if (rc == 0 && !has_device && best.n_starts == 0) {
        const uint32_t main_thread = hu_main_thread_of_job(trace, arena);

        const hu_interval life = main_thread == HU_NONE ? (hu_interval){0} : hu_thread_life(trace, main_thread);

        if (main_thread != HU_NONE)
            rc = pick_sequence(trace, calls, true, main_thread, (life.end_ns - life.start_ns) / LEAST_PART, arena, &q, err);
        q.fewest = FEWEST_CALLS;
        if (rc == 0 && main_thread != HU_NONE)
            rc = measure_sequence(&q, arena, &best, err);
    }
    if (rc == 0)
        *out = best;
    return rc;
}
