/* SPDX-License-Identifier: Apache-2.0
 * deadlock.c - calls for locks that never returned say who had the lock; where that leads back to the first thread, nobody
 * goes on. */
#include "analyze/deadlock.h"

#include "analyze/wakes.h"
#include "base/map.h"

enum { MOST_THREADS = 64 };

static uint64_t thread_key(const hu_track *t, int64_t tid)
{
    return (uint64_t)t->pid << 32 | (uint32_t)tid;
}

static bool is_stuck(const hu_ask *ask, uint32_t slice)
{
    const hu_wait_detail *d = hu_wakes_is_lock(ask, slice) ? hu_wakes_detail(ask, slice) : NULL;

    return d && d->is_unfinished && d->holder;
}

/* From a slice to that of the thread that holds its lock; HU_NONE: that one is not stuck. */
static uint32_t next_of(const hu_ask *ask, const hu_map *stuck, uint32_t slice)
{
    const uint32_t next = hu_map_get(stuck,
                                     thread_key(&ask->tracks[ask->s.track[slice]], hu_wakes_detail(ask, slice)->holder));

    return next == HU_MAP_NONE ? HU_NONE : next;
}

static bool keep(const hu_ask *ask, const hu_map *stuck, uint32_t first, size_t n, hu_deadlock *out)
{
    uint32_t at = first;

    out->at = hu_arena_calloc(ask->arena, n + 1, sizeof *out->at);
    for (size_t i = 0; out->at && i < n; i++, at = next_of(ask, stuck, at)) {
        const hu_wait_detail *d = hu_wakes_detail(ask, at);
        const hu_track       *t = &ask->tracks[ask->s.track[at]];

        out->at[out->n++] = (hu_stuck){.name = hu_trace_text(ask->trace, t->name),
                                       .call = hu_ask_name(ask, at),
                                       .lock = hu_trace_text(ask->trace, d->name),
                                       .caller = hu_trace_text(ask->trace, d->caller),
                                       .tid = t->tid,
                                       .waited_ns = ask->s.dur_ns[at]};
    }
    return out->at != NULL;
}

int hu_deadlock_find(const hu_ask *ask, hu_deadlock *out, hu_error *err)
{
    hu_map stuck;

    *out = (hu_deadlock){0};
    if (!hu_map_init(&stuck, ask->scratch, 16))
        return hu_fail_memory(err);
    for (uint32_t i = 0; i < ask->s.n; i++) {
        const hu_track *t = &ask->tracks[ask->s.track[i]];
        uint32_t       *place;

        if (ask->s.kind[i] != HU_KIND_OS_CALL || !is_stuck(ask, i))
            continue;
        place = hu_map_put(&stuck, thread_key(t, t->tid));
        if (!place)
            return hu_fail_memory(err);
        *place = i;
    }
    for (uint32_t i = 0; i < ask->s.n && !out->n; i++) {
        uint32_t at = i;
        size_t   n = 0;

        if (ask->s.kind[i] != HU_KIND_OS_CALL || !is_stuck(ask, i))
            continue;
        do {
            at = next_of(ask, &stuck, at);
            n++;
        } while (at != HU_NONE && at != i && n < MOST_THREADS);
        if (at == i && !keep(ask, &stuck, i, n, out))
            return hu_fail_memory(err);
    }
    return 0;
}
