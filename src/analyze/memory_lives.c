/* SPDX-License-Identifier: Apache-2.0
 * memory_lives.c - each allocation as one row: from the events that took it and gave it back, and from the blocks of a
 * snapshot that were held before its history begins. */
#include "analyze/memory_lives.h"

#include "analyze/memory_work.h"

typedef struct {
    hu_memory_work work;
    HU_VEC(hu_memory_span) list;
    uint8_t *is_told; /* by place: the event belongs to an allocation that is followed */
} finder;

static bool add(finder *f, hu_memory_span span)
{
    return hu_vec_push(f->work.ask->arena, &f->list, span);
}

/* What was given back, and taken before the capture; of recorders without addresses everything that was given back. */
static bool add_deaths(finder *f)
{
    const hu_memory_work *w = &f->work;

    for (uint32_t place = 0; place < w->n; place++) {
        const hu_memory_event *e = &w->events[w->order[place]];
        hu_memory_span         span = {HU_BORN_BEFORE, e->time_ns, -e->bytes, w->pool_of[place],
                                       HU_NONE,        e->site,    e->stack,  HU_MEMORY_BEFORE};

        if (e->bytes >= 0 || e->is_move || f->is_told[place] || span.pool == HU_NONE)
            continue;
        if (e->use)
            span.category = (uint8_t)hu_memory_category_of((hu_memory_use)e->use);
        if (!add(f, span))
            return false;
    }
    return true;
}

/* What a snapshot holds at its end, and its history does not know. */
static bool add_blocks(finder *f)
{
    const hu_memory_work    *w = &f->work;
    size_t                   n, n_segments;
    const hu_memory_block   *b = hu_trace_blocks(w->ask->trace, &n);
    const hu_memory_segment *s = hu_trace_segments(w->ask->trace, &n_segments);

    for (size_t i = 0; i < n; i++) {
        uint32_t pool = 0;

        while (pool < w->pools.n && (w->pools.at[pool].device != s[b[i].segment].device ||
                                     w->pools.at[pool].device_type != s[b[i].segment].device_type))
            pool++;
        if (pool == w->pools.n || b[i].state != HU_MEMORY_HELD ||
            hu_map_get(&w->live, hu_hash_u64(b[i].address) ^ pool) != HU_MAP_NONE)
            continue;
        if (!add(f, (hu_memory_span){HU_BORN_BEFORE, HU_DIED_NEVER, b[i].bytes, pool, HU_NONE, b[i].site, b[i].stack,
                                     HU_MEMORY_BEFORE}))
            return false;
    }
    return true;
}

static bool add_births(finder *f)
{
    hu_memory_work *w = &f->work;
    size_t          life = 0;

    for (uint32_t place = 0; place < w->n; place++) {
        const hu_memory_event *e = &w->events[w->order[place]];
        hu_memory_span         span = {e->time_ns, HU_DIED_NEVER, e->bytes, w->pool_of[place],
                                       HU_NONE,    e->site,       e->stack, HU_MEMORY_OTHER};

        if (e->bytes <= 0 || e->is_move || span.pool == HU_NONE)
            continue;
        if (e->use) {
            span.category = (uint8_t)hu_memory_category_of((hu_memory_use)e->use);
        } else if (life < w->list.n && w->list.at[life].born == place) {
            hu_memory_life *a = &w->list.at[life++];

            hu_memory_judge(w, a);
            span.category = a->category;
            span.op = a->op;
            span.died_ns = a->died == HU_NONE ? HU_DIED_NEVER : w->events[w->order[a->died]].time_ns;
        }
        if (!add(f, span))
            return false;
    }
    return true;
}

int hu_memory_lives_find(const hu_ask *ask, hu_memory_lives *out, hu_error *err)
{
    finder          f = {.work = {.ask = ask}};
    hu_memory_work *w = &f.work;
    hu_memory_lives result = {.has_address = true};
    int             rc;

    w->events = hu_trace_memory(ask->trace, &w->n);
    if (w->n == 0) {
        *out = result;
        return 0;
    }
    rc = hu_memory_follow(w, err);
    if (rc < 0)
        return rc;
    f.is_told = hu_arena_calloc(ask->scratch, w->n, 1);
    result.pools = hu_arena_calloc(ask->arena, w->pools.n + 1, sizeof *result.pools);
    if (!f.is_told || !result.pools)
        return hu_fail_memory(err);
    for (size_t i = 0; i < w->list.n; i++)
        if (w->list.at[i].died != HU_NONE)
            f.is_told[w->list.at[i].died] = 1;
    for (size_t i = 0; i < w->n; i++)
        result.has_address &= !w->events[i].use;
    for (size_t p = 0; p < w->pools.n; p++)
        result.pools[p] = w->pools.at[p].name;
    result.n_pools = w->pools.n;
    if (!add_deaths(&f) || !add_blocks(&f) || !add_births(&f))
        return hu_fail_memory(err);
    result.first_ns = w->events[w->order[0]].time_ns;
    result.last_ns = w->events[w->order[w->n - 1]].time_ns;
    result.at = f.list.at;
    result.n = f.list.n;
    *out = result;
    return 0;
}
