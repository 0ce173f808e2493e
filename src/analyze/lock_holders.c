/* SPDX-License-Identifier: Apache-2.0
 * lock_holders.c - a recording does not tell who holds a lock, but it tells who does not wait.
 *
 * Where a thread waits for a lock and every other thread of the process but one waits for a lock too, or for the end of a
 * thread, that one is the holder: somebody must be.  What it does then is what it does under the lock.  Where several do
 * not wait, or one waits for something else, which it may do under the lock, nothing is said; nor of locks of files, which
 * other processes hold.
 */
#include "analyze/lock_holders.h"

#include <stdlib.h>

#include "analyze/host_calls.h"
#include "base/map.h"

enum { MOST_CHECKS = 200000000 /* of threads at changes; a second or less */ };

typedef enum { GONE, JOINS, COMPUTES, CALLS, WAITS, LOCKED } doing;

typedef struct {
    int64_t  time_ns;
    uint32_t thread, slice; /* number in `threads`; the call that it is in, HU_NONE */
    uint8_t  what;          /* doing */
} change;

typedef struct {
    uint32_t track, slice;
    uint8_t  what;
    int64_t  holds_ns, waits_ns;
} one;

typedef struct {
    int64_t  start_ns, end_ns;
    uint32_t thread;
} piece;

typedef struct {
    const hu_ask  *ask;
    const uint8_t *is_lock, *inner;
    hu_arena      *scratch;
    HU_VEC(change) changes;
    HU_VEC(one) threads;
    HU_VEC(piece) computing; /* of holders, by time */
    hu_map name_ns;          /* name of a call, 0 computing -> place in `sums` */
    HU_VEC(int64_t) sums;
    HU_VEC(uint32_t) names;
    hu_lock_holders *out;
} work;

uint8_t *hu_lock_holders_calls(const hu_ask *ask, hu_arena *scratch)
{
    uint8_t *is_lock = hu_arena_calloc(scratch, (size_t)ask->s.n + 1, 1);

    for (uint32_t i = 0; is_lock && i < ask->s.n; i++)
        is_lock[i] = ask->s.kind[i] == HU_KIND_OS_CALL && hu_host_calls_class(ask, i) == HU_HOST_LOCK &&
                     !hu_str_has(hu_ask_name(ask, i), HU_STR("lockf")) &&
                     !hu_str_equal(hu_ask_name(ask, i), HU_STR("flock"));
    return is_lock;
}

/* Calls in which a thread does nothing of its own. */
static doing what_of(const work *w, uint32_t i)
{
    if (w->is_lock[i])
        return LOCKED;
    if (hu_str_starts(hu_ask_name(w->ask, i), HU_STR("pthread_join")))
        return JOINS;
    switch (hu_host_calls_class(w->ask, i)) {
    case HU_HOST_FILE_READ:
    case HU_HOST_FILE_WRITE:
    case HU_HOST_FILE_META:
    case HU_HOST_FSYNC:
    case HU_HOST_NETWORK:
    case HU_HOST_PIPE:
    case HU_HOST_SLEEP:
        return CALLS;
    default:
        return WAITS;
    }
}

static bool put(work *w, int64_t time_ns, uint32_t thread, uint32_t slice, doing what)
{
    return hu_vec_push(w->scratch, &w->changes, ((change){time_ns, thread, slice, (uint8_t)what}));
}

/* One thread: from its first to its last sign of life, in its calls and between them. */
static bool add_thread(work *w, uint32_t track)
{
    const hu_ask   *ask = w->ask;
    const hu_track *t = &ask->tracks[track];
    const uint32_t  number = (uint32_t)w->threads.n;
    int64_t         until = t->n_stretches ? t->born_ns : INT64_MIN;

    if (!hu_vec_push(w->scratch, &w->threads, ((one){.track = track, .slice = HU_NONE, .what = GONE})))
        return false;
    if (t->n_stretches && !put(w, t->born_ns, number, HU_NONE, COMPUTES))
        return false;
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];

        if (ask->s.kind[i] != HU_KIND_OS_CALL || w->inner[i] || !ask->s.dur_ns[i] || ask->s.start_ns[i] < until)
            continue;
        until = hu_ask_end(ask, i);
        if (!put(w, ask->s.start_ns[i], number, i, what_of(w, i)) || !put(w, until, number, HU_NONE, COMPUTES))
            return false;
    }
    if (until == INT64_MIN)
        return true;
    return put(w, t->n_stretches && t->died_ns > until ? t->died_ns : until, number, HU_NONE, GONE);
}

static int by_time(const void *left, const void *right)
{
    const change *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    /* at one instant a thread first leaves a call, then is in the next, and is gone last */
    if ((a->what == GONE) != (b->what == GONE))
        return a->what == GONE ? 1 : -1;
    return (a->what != COMPUTES) - (b->what != COMPUTES);
}

/* A thread is the only one that does not wait, for so long. */
static bool hold(work *w, uint32_t thread, int64_t from_ns, int64_t to_ns)
{
    one           *x = &w->threads.at[thread];
    const uint32_t name = x->slice == HU_NONE ? 0 : w->ask->s.name[x->slice];
    uint32_t      *place = hu_map_put(&w->name_ns, (uint64_t)name + 1);

    if (!place)
        return false;
    if (*place == HU_MAP_NONE) {
        *place = (uint32_t)w->sums.n;
        if (!hu_vec_push(w->scratch, &w->sums, 0) || !hu_vec_push(w->scratch, &w->names, name))
            return false;
    }
    w->sums.at[*place] += to_ns - from_ns;
    x->holds_ns += to_ns - from_ns;
    w->out->known_ns += to_ns - from_ns;
    return name || hu_vec_push(w->scratch, &w->computing, ((piece){from_ns, to_ns, thread}));
}

static bool sweep(work *w)
{
    size_t count[LOCKED + 1] = {0};

    count[GONE] = w->threads.n;
    for (size_t i = 0; i < w->changes.n; i++) {
        const change *x = &w->changes.at[i];
        one          *t = &w->threads.at[x->thread];
        const int64_t next = i + 1 < w->changes.n ? w->changes.at[i + 1].time_ns : x->time_ns;

        count[t->what]--;
        t->what = x->what;
        t->slice = x->slice;
        count[t->what]++;
        if (next == x->time_ns || !count[LOCKED])
            continue;
        w->out->waited_ns += next - x->time_ns;
        for (uint32_t k = 0; k < w->threads.n; k++) {
            one *other = &w->threads.at[k];

            if (other->what == LOCKED)
                other->waits_ns += next - x->time_ns;
            else if ((other->what == COMPUTES || other->what == CALLS) &&
                     count[COMPUTES] + count[CALLS] + count[WAITS] == 1 && !hold(w, k, x->time_ns, next))
                return false;
        }
    }
    return true;
}

/* The function that most samples of holders are in while they compute. */
static bool find_function(work *w)
{
    const hu_trace      *trace = w->ask->trace;
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(trace, &n);
    uint32_t             most = 0;
    hu_map               count;

    if (!hu_map_init(&count, w->scratch, 64))
        return false;
    for (size_t i = 0; i < n && w->computing.n; i++) {
        const uint32_t function = samples[i].stack ? hu_trace_cpu_stack(trace, samples[i].stack)->function : 0;
        size_t         low = 0, high = w->computing.n;
        uint32_t      *place;

        while (low < high) {
            const size_t middle = low + (high - low) / 2;

            if (w->computing.at[middle].end_ns <= samples[i].time_ns)
                low = middle + 1;
            else
                high = middle;
        }
        if (!function || low == w->computing.n || w->computing.at[low].start_ns > samples[i].time_ns ||
            w->threads.at[w->computing.at[low].thread].track != samples[i].track)
            continue;
        place = hu_map_put(&count, function);
        if (!place)
            return false;
        *place = *place == HU_MAP_NONE ? 1 : *place + 1;
        if (*place > most) {
            most = *place;
            w->out->function = hu_trace_text(trace, function);
        }
    }
    return true;
}

static void sum_up(work *w)
{
    enum { A_TENTH = 10 };
    hu_lock_holders *out = w->out;

    for (size_t i = 0; i < w->sums.n; i++)
        if (w->sums.at[i] > out->doing_ns) {
            out->doing_ns = w->sums.at[i];
            out->doing = w->names.at[i] ? hu_trace_text(w->ask->trace, w->names.at[i]) : HU_STR("");
        }
    out->waits_too = true;
    for (size_t i = 0; i < w->threads.n; i++) {
        const one *x = &w->threads.at[i];

        if (x->holds_ns > out->holder_ns) {
            out->holder_ns = x->holds_ns;
            out->holder = x->track;
        }
        if (x->holds_ns == 0 || x->holds_ns < out->known_ns / A_TENTH)
            continue;
        out->n_holders++;
        out->waits_too = out->waits_too && x->waits_ns >= out->waited_ns / A_TENTH;
    }
}

bool hu_lock_holders_find(const hu_ask *ask, uint32_t main_track, const uint8_t *is_lock, const uint8_t *inner,
                          hu_arena *scratch, hu_lock_holders *out)
{
    work w = {.ask = ask, .is_lock = is_lock, .inner = inner, .scratch = scratch, .out = out};

    *out = (hu_lock_holders){0};
    if (main_track >= ask->n_tracks)
        return true;
    if (!hu_map_init(&w.name_ns, scratch, 16))
        return false;
    for (uint32_t t = 0; t < ask->n_tracks; t++)
        if (ask->tracks[t].type == HU_TRACK_HOST && ask->tracks[t].pid == ask->tracks[main_track].pid &&
            ask->tracks[t].pid_is_text == ask->tracks[main_track].pid_is_text && !add_thread(&w, t))
            return false;
    if (w.changes.n > MOST_CHECKS / (w.threads.n + 1))
        return true;
    if (w.changes.n)
        qsort(w.changes.at, w.changes.n, sizeof *w.changes.at, by_time);
    if (!sweep(&w) || !find_function(&w))
        return false;
    sum_up(&w);
    return true;
}
