/* SPDX-License-Identifier: Apache-2.0
 * locks.c - locks by their addresses.
 *
 * Who releases a lock that another thread waits for held it until then: since the wait began, or since it was released last,
 * whichever is later.  What that thread does in this time is what it does under the lock.
 */
#include "analyze/locks.h"

#include <stdlib.h>

#include "analyze/code_owner.h"
#include "analyze/host_calls.h"
#include "base/map.h"

typedef struct {
    uint32_t object, n_waiters;
    int64_t  waits, waited_ns;
} lock;

typedef struct {
    int64_t  start_ns, end_ns;
    uint32_t track;
} hold;

typedef struct {
    uint64_t key;
    int64_t  ns;
    uint32_t slice;
} sum;

typedef HU_VEC(sum) sums;

typedef struct {
    const hu_ask  *ask;
    const uint8_t *inner;
    hu_arena      *scratch;
    uint32_t       main_track;
    HU_VEC(lock) locks;
    HU_VEC(hold) holds; /* by track, start; each time once */
    hu_lock *out;
} work;

static bool add(work *w, hu_map *places, sums *list, uint64_t key, int64_t ns, uint32_t slice)
{
    uint32_t *place = hu_map_put(places, key);

    if (!place)
        return false;
    if (*place == HU_MAP_NONE) {
        *place = (uint32_t)list->n;
        if (!hu_vec_push(w->scratch, list, ((sum){.key = key, .slice = slice})))
            return false;
    }
    list->at[*place].ns += ns;
    return true;
}

static const sum *most_of(const sums *list)
{
    const sum *best = NULL;

    for (size_t i = 0; i < list->n; i++)
        if (!best || list->at[i].ns > best->ns)
            best = &list->at[i];
    return best;
}

static bool is_wait(const work *w, uint32_t i)
{
    const hu_track *t = &w->ask->tracks[w->ask->s.track[i]], *of = &w->ask->tracks[w->main_track];

    return w->ask->s.kind[i] == HU_KIND_OS_CALL && !w->inner[i] && t->pid == of->pid && t->pid_is_text == of->pid_is_text &&
           hu_wakes_is_lock(w->ask, i);
}

/* All locks of the process; *best: the one that is waited for longest. */
static bool find_lock(work *w, const lock **best)
{
    const hu_ask *ask = w->ask;
    hu_map        place_of, waiters, threads;
    sums          by_thread = {0}, callers = {0};
    const sum    *most;

    if (!hu_map_init(&place_of, w->scratch, 16) || !hu_map_init(&waiters, w->scratch, 64) ||
        !hu_map_init(&threads, w->scratch, 16))
        return false;
    for (uint32_t i = 0; i < ask->s.n; i++) {
        const hu_wait_detail *d = is_wait(w, i) ? hu_wakes_detail(ask, i) : NULL;
        uint32_t             *place, *seen;

        if (!d || !d->object)
            continue;
        place = hu_map_put(&place_of, d->object);
        seen = hu_map_put(&waiters, (uint64_t)d->object << 32 | ask->s.track[i]);
        if (!place || !seen || !add(w, &threads, &by_thread, ask->s.track[i], ask->s.dur_ns[i], i))
            return false;
        if (*place == HU_MAP_NONE) {
            *place = (uint32_t)w->locks.n;
            if (!hu_vec_push(w->scratch, &w->locks, ((lock){.object = d->object})))
                return false;
        }
        w->locks.at[*place].n_waiters += *seen == HU_MAP_NONE;
        *seen = 1;
        w->locks.at[*place].waits++;
        w->locks.at[*place].waited_ns += ask->s.dur_ns[i];
        w->out->all_ns += ask->s.dur_ns[i];
    }
    *best = NULL;
    for (size_t i = 0; i < w->locks.n; i++)
        if (!*best || w->locks.at[i].waited_ns > (*best)->waited_ns)
            *best = &w->locks.at[i];
    w->out->longest_ns = (most = most_of(&by_thread)) ? most->ns : 0;
    if (!*best || !hu_map_init(&place_of, w->scratch, 16))
        return *best == NULL;
    for (uint32_t i = 0; i < ask->s.n; i++) {
        const hu_wait_detail *d = is_wait(w, i) ? hu_wakes_detail(ask, i) : NULL;

        if (!d || d->object != (*best)->object)
            continue;
        w->out->name = d->name ? hu_trace_text(ask->trace, d->name) : w->out->name;
        if (d->caller && !add(w, &place_of, &callers, d->caller, ask->s.dur_ns[i], i))
            return false;
    }
    if ((most = most_of(&callers)))
        w->out->taken_in = hu_trace_text(ask->trace, (uint32_t)most->key);
    return true;
}

static int by_place(const void *left, const void *right)
{
    const hold *a = left, *b = right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Who waits with a time limit asks again at once: all such calls behind each other are one wait. */
static int64_t begin_of_wait(const work *w, uint32_t slice)
{
    enum { AT_ONCE_NS = 100000 };
    const hu_ask   *ask = w->ask;
    const hu_track *t = &ask->tracks[ask->s.track[slice]];
    int64_t         begin = ask->s.start_ns[slice];

    for (uint32_t k = hu_ask_first_from(ask, t, begin); k-- > 0;) {
        const uint32_t        i = ask->order[t->first + k];
        const hu_wait_detail *d = hu_wakes_detail(ask, i);

        if (ask->s.kind[i] != HU_KIND_OS_CALL || w->inner[i] || i == slice)
            continue;
        if (!d || d->object != w->out->object || begin - hu_ask_end(ask, i) > AT_ONCE_NS)
            break;
        begin = ask->s.start_ns[i];
    }
    return begin;
}

/* The times in which the lock was held by a known thread and another one waited. */
static bool find_holds(work *w)
{
    const hu_ask    *ask = w->ask;
    size_t           n, kept = 0;
    const hu_wakeup *wakes = hu_trace_wakes(ask->trace, &n);
    int64_t          released_ns = INT64_MIN;
    uint32_t         at = 0;
    hu_wakes         woken;

    if (!hu_wakes_find(ask, w->scratch, w->scratch, &woken))
        return false;
    for (size_t i = 0; i < woken.n; i++) {
        const hu_woken       *x = &woken.at[i];
        const hu_wait_detail *d = hu_wakes_detail(ask, x->slice);
        int64_t               since;

        if (!d || d->object != w->out->object || !is_wait(w, x->slice))
            continue;
        since = begin_of_wait(w, x->slice);
        for (; at < n && wakes[at].time_ns < x->wake_ns; at++)
            if (wakes[at].object == w->out->object && ask->tracks[wakes[at].track].pid == ask->tracks[w->main_track].pid)
                released_ns = wakes[at].time_ns;
        since = released_ns > since && released_ns < x->wake_ns ? released_ns : since;
        if (x->wake_ns > since && !hu_vec_push(w->scratch, &w->holds, ((hold){since, x->wake_ns, x->waker})))
            return false;
    }
    if (w->holds.n)
        qsort(w->holds.at, w->holds.n, sizeof *w->holds.at, by_place);
    for (size_t i = 0; i < w->holds.n; i++) {
        hold  x = w->holds.at[i];
        hold *last = kept ? &w->holds.at[kept - 1] : NULL;

        if (last && last->track == x.track && last->end_ns > x.start_ns)
            x.start_ns = last->end_ns;
        if (x.end_ns > x.start_ns)
            w->holds.at[kept++] = x;
    }
    w->holds.n = kept;
    return true;
}

/* What a thread does while it holds the lock: its calls by name and caller, and the rest under 0. */
static bool divide(work *w, const hold *x, hu_map *places, sums *list)
{
    const hu_ask   *ask = w->ask;
    const hu_track *t = &ask->tracks[x->track];
    int64_t         rest = x->end_ns - x->start_ns;

    for (uint32_t k = hu_ask_first_from(ask, t, x->start_ns); k < t->count; k++) {
        const uint32_t        i = ask->order[t->first + k];
        const hu_wait_detail *d;
        int64_t               from, to;

        if (ask->s.start_ns[i] >= x->end_ns)
            break;
        if (ask->s.kind[i] != HU_KIND_OS_CALL || w->inner[i])
            continue;
        from = ask->s.start_ns[i] > x->start_ns ? ask->s.start_ns[i] : x->start_ns;
        to = hu_ask_end(ask, i) < x->end_ns ? hu_ask_end(ask, i) : x->end_ns;
        if (to <= from)
            continue;
        rest -= to - from;
        d = hu_wakes_detail(ask, i);
        if (!add(w, places, list, (uint64_t)ask->s.name[i] << 32 | (d ? d->caller : 0), to - from, i))
            return false;
    }
    return rest <= 0 || add(w, places, list, 0, rest, HU_NONE);
}

/* The innermost function of the program that a sample is in; 0: none, or an interpreter's, which says nothing of what it
   runs. */
static uint32_t function_of(const hu_trace *trace, uint32_t stack)
{
    const uint32_t      owner = stack ? hu_code_owner(trace, stack) : 0;
    const hu_cpu_stack *link = owner ? hu_trace_cpu_stack(trace, owner) : NULL;

    return !link || hu_code_kind_of(hu_trace_text(trace, link->function), hu_trace_text(trace, link->module)) ==
                        HU_CODE_PYTHON
               ? 0
               : link->function;
}

/* The function that most samples of holders are in. */
static bool find_function(work *w)
{
    const hu_trace      *trace = w->ask->trace;
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(trace, &n);
    sums                 counts = {0};
    const sum           *most;
    hu_map               places;

    if (!hu_map_init(&places, w->scratch, 64))
        return false;
    for (size_t i = 0; i < n && w->holds.n; i++) {
        const uint32_t function = function_of(trace, samples[i].stack);
        const hold     key = {samples[i].time_ns, samples[i].time_ns, samples[i].track};
        size_t         low = 0, high = w->holds.n;

        while (low < high) {
            const size_t middle = low + (high - low) / 2;

            if (by_place(&w->holds.at[middle], &key) <= 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (!low || w->holds.at[low - 1].track != key.track || w->holds.at[low - 1].end_ns <= key.start_ns)
            continue;
        w->out->samples++;
        if (function && !add(w, &places, &counts, function, 1, HU_NONE))
            return false;
    }
    if ((most = most_of(&counts))) {
        w->out->function = hu_trace_text(trace, (uint32_t)most->key);
        w->out->in_function = most->ns;
    }
    return true;
}

static bool sum_up(work *w)
{
    enum { A_TENTH = 10 };
    const hu_ask *ask = w->ask;
    hu_lock      *out = w->out;
    hu_map        places, threads;
    sums          doing = {0}, holders = {0};
    const sum    *most;

    if (!hu_map_init(&places, w->scratch, 16) || !hu_map_init(&threads, w->scratch, 16))
        return false;
    for (size_t i = 0; i < w->holds.n; i++) {
        const hold *x = &w->holds.at[i];

        out->known_ns += x->end_ns - x->start_ns;
        if (!divide(w, x, &places, &doing) || !add(w, &threads, &holders, x->track, x->end_ns - x->start_ns, HU_NONE))
            return false;
    }
    if ((most = most_of(&holders))) {
        out->holder = (uint32_t)most->key;
        out->holder_ns = most->ns;
    }
    for (size_t i = 0; i < holders.n; i++)
        out->n_holders += holders.at[i].ns >= out->known_ns / A_TENTH;
    if (!(most = most_of(&doing)))
        return true;
    out->doing_ns = most->ns;
    if (most->slice == HU_NONE)
        return find_function(w);
    out->doing = hu_ask_name(ask, most->slice);
    out->class = hu_host_calls_class(ask, most->slice);
    out->caller = hu_trace_text(ask->trace, (uint32_t)most->key);
    return true;
}

bool hu_locks_find(const hu_ask *ask, uint32_t main_track, const uint8_t *inner, hu_arena *scratch, hu_lock *out)
{
    work        w = {.ask = ask, .inner = inner, .scratch = scratch, .main_track = main_track, .out = out};
    const lock *best;

    *out = (hu_lock){.name = HU_STR(""), .taken_in = HU_STR("")};
    if (main_track >= ask->n_tracks)
        return true;
    if (!find_lock(&w, &best))
        return false;
    if (!best)
        return true;
    out->is_gil = hu_str_starts(out->taken_in, HU_STR("take_gil")) || hu_str_starts(out->taken_in, HU_STR("drop_gil")) ||
                  hu_str_starts(out->name, HU_STR("_PyRuntime"));
    out->object = best->object;
    out->waits = best->waits;
    out->waited_ns = best->waited_ns;
    out->n_waiters = best->n_waiters;
    return find_holds(&w) && sum_up(&w);
}
