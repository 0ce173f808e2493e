/* SPDX-License-Identifier: Apache-2.0
 * wakes.c - a wait ends by the last wake-up of its object, by another thread of its process, while it lasted.
 *
 * The last one: earlier ones woke others, or a thread that found that it had to go on waiting.  Who waits for a condition
 * also needs its mutex, so the later of the two counts where one thread signals and unlocks.  A call that ended because its
 * time was over was woken by nobody, and one that ends long behind the last wake-up had another reason.
 *
 * A wait in epoll_wait and its like has no object of its own: an event that was written to just before its end ended it.
 */
#include "analyze/wakes.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/host_calls.h"
#include "base/map.h"

enum {
    AHEAD_NS = 50000,      /* by which a waiter may return before the waker's call is timed */
    LATE_NS = 5000000,     /* from a wake-up to the end of a wait, where others take the CPUs, */
    LATE_PART = 4,         /* or this part of the wait */
    POLL_LATE_NS = 500000, /* the same of calls whose object is not known */
};

typedef struct {
    const hu_ask    *ask;
    const hu_wakeup *wakes;
    hu_map           group_of; /* process and object -> row of first */
    uint32_t        *first, *rows, n_groups;
} work;

/* Any event of a process, for those who poll. */
static const uint32_t ANY_EVENT = 0;

static uint64_t key_of(const work *w, uint32_t track, uint32_t object)
{
    return (uint64_t)object << 32 | (uint32_t)w->ask->tracks[track].pid;
}

/* Group of an object, HU_NONE; `adds`: a new one for a new object. */
static bool group_of(work *w, uint32_t track, uint32_t object, uint32_t *out)
{
    uint32_t *place = hu_map_put(&w->group_of, key_of(w, track, object));

    if (!place)
        return false;
    if (*place == HU_MAP_NONE)
        *place = w->n_groups++;
    *out = *place;
    return true;
}

/* Wake-ups by object, those of one by time. */
static bool group_wakes(work *w, size_t n, hu_arena *scratch)
{
    uint32_t *of = hu_arena_alloc(scratch, 2 * (n + 1) * sizeof *of);

    if (!of || !hu_map_init(&w->group_of, scratch, 64))
        return false;
    for (size_t i = 0; i < n; i++) {
        of[2 * i + 1] = HU_NONE;
        if (!group_of(w, w->wakes[i].track, w->wakes[i].object, &of[2 * i]) ||
            (w->wakes[i].how == HU_WAKEUP_EVENTFD && !group_of(w, w->wakes[i].track, ANY_EVENT, &of[2 * i + 1])))
            return false;
    }
    w->first = hu_arena_calloc(scratch, (size_t)w->n_groups + 2, sizeof *w->first);
    w->rows = hu_arena_alloc(scratch, 2 * (n + 1) * sizeof *w->rows);
    if (!w->first || !w->rows)
        return false;
    for (size_t i = 0; i < 2 * n; i++)
        if (of[i] != HU_NONE)
            w->first[of[i] + 2]++;
    for (uint32_t k = 2; k < w->n_groups + 2; k++)
        w->first[k] += w->first[k - 1];
    for (size_t i = 0; i < 2 * n; i++)
        if (of[i] != HU_NONE)
            w->rows[w->first[of[i] + 1]++] = (uint32_t)(i / 2);
    return true;
}

/* The last wake-up of an object in a time, by another thread than that of `track`; HU_NONE. */
static uint32_t last_of(const work *w, uint32_t track, uint32_t object, int64_t from_ns, int64_t to_ns)
{
    const uint32_t group = hu_map_get(&w->group_of, key_of(w, track, object));
    uint32_t       low, high, least;

    if (group == HU_MAP_NONE)
        return HU_NONE;
    least = low = w->first[group];
    high = w->first[group + 1];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (w->wakes[w->rows[middle]].time_ns <= to_ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > least) {
        const hu_wakeup *x = &w->wakes[w->rows[low]];

        if (x->time_ns < from_ns)
            return HU_NONE;
        if (x->track != track)
            return w->rows[low];
    }
    return HU_NONE;
}

const hu_wait_detail *hu_wakes_detail(const hu_ask *ask, uint32_t slice)
{
    const uint32_t row = ask->s.detail[slice];
    uint32_t       wait;

    if (row == HU_NONE || ask->s.kind[slice] != HU_KIND_OS_CALL)
        return NULL;
    wait = hu_trace_os_detail(ask->trace, row)->wait;
    return wait ? hu_trace_wait_detail(ask->trace, wait) : NULL;
}

bool hu_wakes_is_lock(const hu_ask *ask, uint32_t slice)
{
    const hu_str name = hu_ask_name(ask, slice);

    return ask->s.kind[slice] == HU_KIND_OS_CALL && hu_host_calls_class(ask, slice) == HU_HOST_LOCK &&
           !hu_str_has(name, HU_STR("lockf")) && !hu_str_equal(name, HU_STR("flock"));
}

/* The wake-up that ended a call; HU_NONE. */
static uint32_t wake_of(const work *w, uint32_t slice)
{
    const hu_ask         *ask = w->ask;
    const hu_wait_detail *d = hu_wakes_detail(ask, slice);
    const uint32_t        track = ask->s.track[slice];
    const int64_t         start = ask->s.start_ns[slice], end = hu_ask_end(ask, slice), part = (end - start) / LATE_PART;
    const int64_t         late = part > LATE_NS ? part : LATE_NS;
    uint32_t              best, unlock;

    if (hu_host_calls_class(ask, slice) == HU_HOST_POLL)
        return last_of(w, track, ANY_EVENT, end - POLL_LATE_NS > start ? end - POLL_LATE_NS : start, end);
    if (!d || !d->object || d->error == ETIMEDOUT || d->is_unfinished)
        return HU_NONE;
    best = last_of(w, track, d->object, start, end + AHEAD_NS);
    unlock = d->mutex && best != HU_NONE ? last_of(w, track, d->mutex, w->wakes[best].time_ns, end + AHEAD_NS) : HU_NONE;
    if (unlock != HU_NONE && (w->wakes[unlock].track == w->wakes[best].track ||
                              w->wakes[unlock].time_ns - w->wakes[best].time_ns > w->wakes[best].time_ns - start))
        best = unlock;
    return best != HU_NONE && end - w->wakes[best].time_ns <= late ? best : HU_NONE;
}

static int by_end(const void *left, const void *right)
{
    const hu_woken *a = left, *b = right;

    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return (a->slice > b->slice) - (a->slice < b->slice);
}

bool hu_wakes_find(const hu_ask *ask, hu_arena *arena, hu_arena *scratch, hu_wakes *out)
{
    work w = {.ask = ask};
    HU_VEC(hu_woken) list = {0};
    size_t n;

    *out = (hu_wakes){0};
    w.wakes = hu_trace_wakes(ask->trace, &n);
    if (n == 0)
        return true;
    out->is_woken = hu_arena_calloc(arena, ask->s.n + 1, 1);
    if (!out->is_woken || !group_wakes(&w, n, scratch))
        return false;
    for (uint32_t i = 0; i < ask->s.n; i++) {
        const uint32_t wake = ask->s.kind[i] == HU_KIND_OS_CALL ? wake_of(&w, i) : HU_NONE;

        if (wake == HU_NONE)
            continue;
        out->is_woken[i] = 1;
        if (!hu_vec_push(arena, &list,
                         ((hu_woken){hu_ask_end(ask, i), w.wakes[wake].time_ns, i, w.wakes[wake].track, wake})))
            return false;
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_end);
    out->at = list.at;
    out->n = list.n;
    return true;
}
