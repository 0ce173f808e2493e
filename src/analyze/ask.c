/* SPDX-License-Identifier: Apache-2.0
 * ask.c - one pass over the device's work in time order makes every set of intervals that questions need. */
#include "analyze/ask.h"

#include "analyze/comm_kernels.h"
#include "analyze/jvm.h"
#include "analyze/overheads.h"

/* Streams one after the other, each in order: the sort merges that few runs. */
static bool list_work(hu_ask *a)
{
    size_t    n = 0;
    uint32_t *work, *spare;

    for (size_t i = 0; i < a->s.n; i++) {
        n += hu_kind_in(a->s.kind[i], HU_KINDS_DEVICE);
        a->kinds |= 1u << a->s.kind[i];
    }
    work = hu_arena_grow(a->scratch, NULL, (n + 1) * sizeof *work);
    spare = hu_arena_grow(a->scratch, NULL, (n + 1) * sizeof *spare);
    if (!work || !spare)
        return false;
    a->n_work = n;
    n = 0;
    for (size_t t = 0; n < a->n_work && t < a->n_tracks; t++) {
        for (uint32_t k = 0; k < a->tracks[t].count; k++) {
            const uint32_t i = a->order[a->tracks[t].first + k];

            if (hu_kind_in(a->s.kind[i], HU_KINDS_DEVICE))
                work[n++] = i;
        }
    }
    hu_trace_sort(a->trace, work, n, spare);
    hu_arena_drop(a->scratch, spare);
    a->work = work;
    return true;
}

/* Nobody changes them: the union with nothing is the list itself. */
static bool join(hu_ask *a, const hu_intervals *x, const hu_intervals *y, hu_intervals *out)
{
    if (x->n && y->n)
        return hu_intervals_join(a->scratch, x, y, out);
    *out = x->n ? *x : *y;
    return true;
}

static bool unite_work(hu_ask *a)
{
    for (size_t k = 0; k < a->n_work; k++) {
        const uint32_t i = a->work[k];
        const int64_t  start = a->s.start_ns[i], end = start + a->s.dur_ns[i];
        hu_intervals  *set = a->s.kind[i] == HU_KIND_KERNEL       ? &a->compute
                             : a->s.kind[i] == HU_KIND_COLLECTIVE ? &a->comm
                             : a->s.kind[i] == HU_KIND_MEMCPY     ? &a->memcpy
                                                                  : &a->memset;

        if (!hu_intervals_add(a->scratch, set, start, end))
            return false;
    }
    return join(a, &a->compute, &a->comm, &a->kernels) && join(a, &a->memcpy, &a->memset, &a->copies) &&
           join(a, &a->kernels, &a->copies, &a->busy);
}

int hu_ask_prepare(const hu_trace *trace, hu_arena *arena, hu_arena *scratch, hu_ask *out, hu_error *err)
{
    hu_ask a = {
        .trace = trace, .s = hu_trace_slices(trace), .order = hu_trace_order(trace), .arena = arena, .scratch = scratch};

    a.tracks = hu_trace_tracks(trace, &a.n_tracks);
    a.names = hu_names_classify(trace, scratch);
    a.waits = hu_wait_frames_classify(trace, scratch);
    a.precision = hu_precision_classify(trace, scratch);
    a.has_jvm = hu_jvm_is_any(trace);
    if (a.s.n)
        a.s.kind = hu_comm_kernels_find(trace, scratch);
    if (!a.names || !a.waits || !a.precision || (a.s.n && !a.s.kind) || !list_work(&a) || !unite_work(&a))
        return hu_fail_memory(err);
    a.recompute = hu_overheads_find_recompute(&a, scratch);
    if (!a.recompute)
        return hu_fail_memory(err);
    *out = a;
    return 0;
}

uint32_t hu_ask_slice_at(const hu_ask *ask, uint32_t track, int64_t time_ns, unsigned kinds)
{
    const hu_track *t = &ask->tracks[track];
    uint32_t        low = t->first, high = t->first + t->count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (ask->s.start_ns[ask->order[middle]] <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == t->first)
        return HU_NONE;
    for (uint32_t at = ask->order[low - 1]; at != HU_NONE; at = hu_trace_after(ask->trace, at))
        if (hu_kind_in(ask->s.kind[at], kinds) && ask->s.start_ns[at] <= time_ns && hu_ask_end(ask, at) >= time_ns)
            return at;
    return HU_NONE;
}

uint32_t hu_ask_first_from(const hu_ask *ask, const hu_track *t, int64_t time_ns)
{
    uint32_t low = 0, high = t->count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (ask->s.start_ns[ask->order[t->first + middle]] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
