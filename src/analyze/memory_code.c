/* SPDX-License-Identifier: Apache-2.0
 * memory_code.c - which code holds memory: call chains at the peak, places in the code at the end and over the steps. */
#include <stdlib.h>

#include "analyze/memory_work.h"

enum { MOST_STEPS = 2000, STACK_BYTES = 8192 };

/* Written from its end, because a stack knows its callers; what does not fit is cut at the outermost. */
static hu_str write_stack(const hu_trace *trace, uint32_t stack, hu_arena *arena)
{
    char   text[STACK_BYTES];
    size_t from = sizeof text;

    for (uint32_t at = stack; at; at = hu_trace_cpu_stack(trace, at)->caller) {
        const hu_str name = hu_trace_text(trace, hu_trace_cpu_stack(trace, at)->function);

        if (name.n + 1 > from)
            break;
        if (from < sizeof text)
            text[--from] = ';';
        from -= name.n;
        memcpy(text + from, name.p, name.n);
    }
    return hu_arena_copy(arena, (hu_str){text + from, sizeof text - from});
}

static int stacks_by_bytes(const void *left, const void *right)
{
    const hu_memory_stack *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return hu_str_compare(a->stack, b->stack);
}

static bool find_stacks(hu_memory_work *w, hu_memory *out)
{
    hu_arena *arena = w->ask->arena;
    HU_VEC(hu_memory_stack) list = {0};
    HU_VEC(uint32_t) ids = {0};
    hu_map rows;

    if (!hu_map_init(&rows, w->ask->scratch, 256))
        return false;
    for (size_t i = 0; i < w->list.n; i++) {
        const hu_memory_life  *a = &w->list.at[i];
        const hu_memory_event *e = hu_memory_birth(w, a);
        uint32_t              *place;

        if (!e->stack || !hu_memory_is_held(a, w->peak_at[a->pool]))
            continue;
        place = hu_map_put(&rows, hu_hash_u64(e->stack) ^ ((uint64_t)a->pool << 8 | a->category));
        if (!place)
            return false;
        if (*place == HU_MAP_NONE) {
            const hu_memory_stack fresh = {.device = w->pools.at[a->pool].name, .category = a->category};

            if (!hu_vec_push(w->ask->scratch, &list, fresh) || !hu_vec_push(w->ask->scratch, &ids, e->stack))
                return false;
            *place = (uint32_t)list.n - 1;
        }
        list.at[*place].bytes += e->bytes;
        list.at[*place].allocations++;
    }
    for (size_t i = 0; i < list.n; i++)
        if (!(list.at[i].stack = write_stack(w->ask->trace, ids.at[i], arena)).p)
            return false;
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, stacks_by_bytes);
    out->n_stacks = list.n < HU_MEMORY_STACKS ? list.n : HU_MEMORY_STACKS;
    out->stacks = hu_arena_calloc(arena, out->n_stacks + 1, sizeof *out->stacks);
    if (out->stacks && list.n)
        memcpy(out->stacks, list.at, out->n_stacks * sizeof *out->stacks);
    return out->stacks != NULL;
}

/* places in the code */

typedef struct {
    hu_memory_work *w;
    HU_VEC(hu_memory_code) list;
    hu_map rows;
} places;

/* By call chain where there is one, else by name. */
static hu_memory_code *place_of(places *p, uint32_t pool, uint32_t name, uint32_t stack)
{
    uint32_t *at = hu_map_put(&p->rows, hu_hash_u64((uint64_t)pool << 32 | name) ^ stack);

    if (!at)
        return NULL;
    if (*at == HU_MAP_NONE) {
        const hu_memory_code fresh = {.device = p->w->pools.at[pool].name,
                                      .op = hu_trace_text(p->w->ask->trace, name),
                                      .stack = write_stack(p->w->ask->trace, stack, p->w->ask->arena)};

        if (!fresh.stack.p || !hu_vec_push(p->w->ask->arena, &p->list, fresh))
            return NULL;
        *at = (uint32_t)p->list.n - 1;
    }
    return &p->list.at[*at];
}

/* The string id of what stands for its code: 0 unknown. */
static uint32_t code_of(const hu_memory_work *w, const hu_memory_life *a)
{
    const uint32_t site = hu_memory_birth(w, a)->site;

    return site ? site : a->op != HU_NONE ? w->ask->s.name[a->op] : 0;
}

/* Blocks know what was held before the history began, too. */
static bool add_blocks(places *p, uint32_t pool)
{
    const hu_memory_pool    *of = &p->w->pools.at[pool];
    size_t                   n, n_segments;
    const hu_memory_block   *b = hu_trace_blocks(p->w->ask->trace, &n);
    const hu_memory_segment *s = hu_trace_segments(p->w->ask->trace, &n_segments);

    for (size_t i = 0; i < n; i++) {
        hu_memory_code *c;

        if (b[i].state == HU_MEMORY_FREE || s[b[i].segment].device != of->device ||
            s[b[i].segment].device_type != of->device_type)
            continue;
        if (!(c = place_of(p, pool, b[i].site, b[i].stack)))
            return false;
        c->bytes += b[i].bytes;
        c->allocations++;
    }
    return true;
}

/* The last place of the list by time before `ns`; HU_NONE: there is none. */
static uint32_t place_before(const hu_memory_work *w, int64_t ns)
{
    size_t from = 0, end = w->n;

    while (from < end) {
        const size_t middle = from + (end - from) / 2;

        if (w->events[w->order[middle]].time_ns < ns)
            from = middle + 1;
        else
            end = middle;
    }
    return from ? (uint32_t)from - 1 : HU_NONE;
}

static bool add_lives(places *p, uint32_t pool)
{
    hu_memory_work *w = p->w;
    int64_t        *ends;
    size_t          n;
    uint32_t        first = HU_NONE, last = HU_NONE;
    bool            has_steps;

    if (!hu_memory_step_ends(w, pool, MOST_STEPS, &ends, &n))
        return false;
    has_steps = n >= 2;
    if (has_steps) {
        first = place_before(w, ends[0]);
        last = place_before(w, ends[n - 1]);
    }
    for (size_t i = 0; i < w->list.n; i++) {
        const hu_memory_life *a = &w->list.at[i];
        const int64_t         bytes = hu_memory_birth(w, a)->bytes;
        const bool            is_left = a->died == HU_NONE && !w->pools.at[pool].segments;
        const int             change = !has_steps ? 0
                                                  : (last != HU_NONE && hu_memory_is_held(a, last)) -
                                            (first != HU_NONE && hu_memory_is_held(a, first));
        hu_memory_code       *c;

        if (a->pool != pool || (!is_left && !change))
            continue;
        if (!(c = place_of(p, pool, code_of(w, a), hu_memory_birth(w, a)->stack)))
            return false;
        c->bytes += is_left ? bytes : 0;
        c->allocations += is_left;
        c->grown_bytes += change * bytes;
        c->grown_allocations += change;
    }
    return true;
}

static int code_by_bytes(const void *left, const void *right)
{
    const hu_memory_code *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->grown_bytes != b->grown_bytes)
        return a->grown_bytes > b->grown_bytes ? -1 : 1;
    return hu_str_compare(a->op, b->op);
}

static bool find_places(hu_memory_work *w, hu_memory *out)
{
    places p = {.w = w};

    if (!hu_map_init(&p.rows, w->ask->scratch, 256))
        return false;
    for (uint32_t pool = 0; pool < w->pools.n; pool++)
        if ((w->pools.at[pool].segments && !add_blocks(&p, pool)) || !add_lives(&p, pool))
            return false;
    if (p.list.n)
        qsort(p.list.at, p.list.n, sizeof *p.list.at, code_by_bytes);
    out->code = p.list.at;
    out->n_code = p.list.n < HU_MEMORY_CODE ? p.list.n : HU_MEMORY_CODE;
    return true;
}

int hu_memory_find_code(hu_memory_work *w, hu_memory *out, hu_error *err)
{
    return find_stacks(w, out) && find_places(w, out) ? 0 : hu_fail_memory(err);
}

/* two snapshots */

static uint64_t key_of(const hu_memory_code *c)
{
    return hu_hash_bytes(c->device.p, c->device.n) ^ hu_hash_u64(hu_hash_bytes(c->op.p, c->op.n)) ^
           hu_hash_u64(hu_hash_bytes(c->stack.p, c->stack.n) + 1);
}

static int by_growth(const void *left, const void *right)
{
    const hu_memory_change *a = left, *b = right;
    const int64_t           x = a->bytes - a->before_bytes, y = b->bytes - b->before_bytes;

    if (x != y)
        return x > y ? -1 : 1;
    return hu_str_compare(a->op, b->op) ? hu_str_compare(a->op, b->op) : hu_str_compare(a->stack, b->stack);
}

bool hu_memory_compare(const hu_memory *before, hu_str name, hu_memory *now, hu_arena *arena)
{
    const hu_memory *both[] = {before, now};
    HU_VEC(hu_memory_change) list = {0};
    size_t kept = 0;
    hu_map rows;

    if (!hu_map_init(&rows, arena, 256))
        return false;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < both[side]->n_code; i++) {
            const hu_memory_code *c = &both[side]->code[i];
            uint32_t             *at = hu_map_put(&rows, key_of(c));
            hu_memory_change     *change;

            if (!at || (*at == HU_MAP_NONE && !hu_vec_push(arena, &list,
                                                           ((hu_memory_change){.device = hu_arena_copy(arena, c->device),
                                                                               .op = hu_arena_copy(arena, c->op),
                                                                               .stack = hu_arena_copy(arena, c->stack)}))))
                return false;
            *at = *at == HU_MAP_NONE ? (uint32_t)list.n - 1 : *at;
            change = &list.at[*at];
            *(side ? &change->bytes : &change->before_bytes) += c->bytes;
            *(side ? &change->allocations : &change->before_allocations) += c->allocations;
        }
    for (size_t i = 0; i < list.n; i++)
        if (list.at[i].bytes != list.at[i].before_bytes)
            list.at[kept++] = list.at[i];
    if (kept)
        qsort(list.at, kept, sizeof *list.at, by_growth);
    now->change = list.at;
    now->n_change = kept;
    now->since = hu_arena_copy(arena, name);
    return now->since.p && !hu_arena_lacked(arena);
}
