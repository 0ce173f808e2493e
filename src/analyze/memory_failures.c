/* SPDX-License-Identifier: Apache-2.0
 * memory_failures.c - in which pieces free memory was: at the peak, at the end, and when an allocation failed. */
#include "analyze/memory_work.h"

/* Rows of a trace are events of all pools; actions say how many of them had come. */
static size_t actions_before(const hu_trace *trace, size_t events)
{
    size_t                  n, k = 0;
    const hu_memory_action *a = hu_trace_memory_actions(trace, &n);

    while (k < n && a[k].after < events)
        k++;
    return k;
}

static bool find_moments(hu_memory_work *w)
{
    const hu_trace *trace = w->ask->trace;
    size_t          n_actions;

    hu_trace_memory_actions(trace, &n_actions);
    for (uint32_t p = 0; p < w->pools.n; p++) {
        hu_memory_pool *pool = &w->pools.at[p];
        const size_t    events = w->order[w->peak_at[p]] + 1;

        if (pool->segments &&
            (!hu_memory_pieces_at(trace, pool->device_type, pool->device, w->n, n_actions, w->ask->scratch, &pool->at_end) ||
             !hu_memory_pieces_at(trace, pool->device_type, pool->device, events, actions_before(trace, events),
                                  w->ask->scratch, &pool->at_peak)))
            return false;
    }
    return true;
}

static hu_memory_why judge(const hu_memory_failure *f)
{
    if (!f->pieces.is_known || f->bytes <= 0)
        return HU_MEMORY_WHY_UNKNOWN;
    if (f->pieces.free_bytes < f->bytes)
        return HU_MEMORY_WHY_FULL;
    return f->pieces.largest_free_bytes < f->bytes ? HU_MEMORY_WHY_PIECES : HU_MEMORY_WHY_OTHERS;
}

static hu_str name_of(const hu_memory_work *w, const hu_memory_action *a)
{
    for (size_t p = 0; p < w->pools.n; p++)
        if (w->pools.at[p].device_type == a->device_type && w->pools.at[p].device == a->device)
            return w->pools.at[p].name;
    return HU_STR("");
}

int hu_memory_find_failures(hu_memory_work *w, hu_memory *out, hu_error *err)
{
    size_t                  n, skip = 0;
    const hu_memory_action *a = hu_trace_memory_actions(w->ask->trace, &n);
    HU_VEC(hu_memory_failure) list = {0};

    if (!find_moments(w))
        return hu_fail_memory(err);
    for (size_t i = 0; i < n; i++)
        skip += a[i].deed == HU_MEMORY_OOM;
    skip = skip > HU_MEMORY_FAILURES ? skip - HU_MEMORY_FAILURES : 0;
    for (size_t i = 0; i < n; i++) {
        hu_memory_failure f = {.device = name_of(w, &a[i]),
                               .op = hu_trace_text(w->ask->trace, a[i].site),
                               .time_ns = a[i].time_ns,
                               .bytes = a[i].bytes,
                               .driver_free_bytes = a[i].device_free};

        if (a[i].deed != HU_MEMORY_OOM || (skip && skip--))
            continue;
        if (!hu_memory_pieces_at(w->ask->trace, a[i].device_type, a[i].device, a[i].after, i + 1, w->ask->scratch,
                                 &f.pieces))
            return hu_fail_memory(err);
        f.why = judge(&f);
        if (!hu_vec_push(w->ask->arena, &list, f))
            return hu_fail_memory(err);
    }
    out->failures = list.at;
    out->n_failures = list.n;
    return 0;
}
