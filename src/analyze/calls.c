/* SPDX-License-Identifier: Apache-2.0
 * calls.c - calls by name as `nsys stats` cuda_api_sum, and the waiting ones by the place they were made from.
 *
 * A call waits when it returns only after the device has done something (names.c lists them), and so does an asynchronous
 * copy between the device and pageable memory, which the runtime stages through a buffer of its own.  How long it took is
 * not what it costs: without it the host would have run on and perhaps waited elsewhere.
 */
#include "analyze/calls.h"

#include <stdlib.h>

#include "analyze/groups.h"
#include "analyze/join.h"
#include "base/map.h"

typedef struct {
    const hu_ask *ask;
    uint32_t     *row_of_name;
    uint32_t     *count; /* by row */
    int64_t       last_launch_ns;
    HU_VEC(hu_call) list;
    HU_VEC(hu_wait) waits;
    hu_map wait_of_place;
} work;

static bool is_call(const work *w, uint32_t i)
{
    return hu_kind_in(w->ask->s.kind[i], HU_KINDS_CALL) && hu_select_in(w->ask->scope, w->ask->s.start_ns[i]);
}

/* Rows and how many calls each has; then all durations, row after row, and each row's share described. */
static int measure_names(work *w, hu_error *err)
{
    const hu_ask *ask = w->ask;
    HU_VEC(uint32_t) count = {0};
    int64_t *durations, *at;
    size_t   n = 0;

    for (uint32_t i = 0; i < ask->s.n; i++) {
        uint32_t *place = &w->row_of_name[ask->s.name[i]];

        if (!is_call(w, i))
            continue;
        if (*place == HU_NONE) {
            const uint8_t flags = ask->names[ask->s.name[i]];

            if (!hu_vec_push(ask->arena, &w->list,
                             ((hu_call){.name = hu_ask_name(ask, i),
                                        .is_sync = flags & HU_NAME_SYNC,
                                        .is_alloc = flags & HU_NAME_ALLOC})) ||
                !hu_vec_push(ask->scratch, &count, 0))
                return hu_fail_memory(err);
            *place = (uint32_t)w->list.n - 1;
        }
        count.at[*place]++;
        n++;
    }
    durations = hu_arena_alloc(ask->scratch, (n + 1) * sizeof *durations);
    w->count = hu_arena_calloc(ask->scratch, w->list.n + 1, sizeof *w->count);
    if (!durations || !w->count)
        return hu_fail_memory(err);
    for (size_t r = 1; r < w->list.n; r++)
        w->count[r] = w->count[r - 1] + count.at[r - 1];
    for (uint32_t i = 0; i < ask->s.n; i++)
        if (is_call(w, i))
            durations[w->count[w->row_of_name[ask->s.name[i]]]++] = ask->s.dur_ns[i];
    at = durations;
    for (size_t r = 0; r < w->list.n; r++) {
        w->list.at[r].duration = hu_stats_of(at, count.at[r]);
        at += count.at[r];
    }
    return 0;
}

static bool waits(const hu_ask *ask, uint32_t call)
{
    size_t          n;
    const uint32_t *piece;

    if (ask->names[ask->s.name[call]] & HU_NAME_SYNC)
        return true;
    if (!(ask->names[ask->s.name[call]] & HU_NAME_LAUNCH) || !hu_str_has(hu_ask_name(ask, call), HU_STR("emcpy")))
        return false;
    piece = hu_trace_work_of(ask->trace, call, &n);
    return n == 1 && ask->s.kind[piece[0]] == HU_KIND_MEMCPY && hu_str_has(hu_ask_name(ask, piece[0]), HU_STR("Pageable"));
}

/* "aten::item < aten::to": the operators around a call. */
static hu_str operators_around(const hu_ask *ask, uint32_t call)
{
    enum { MOST = 4 };
    hu_str names[MOST];
    size_t n = 0, size = 1, length = 0;
    char  *text;

    for (uint32_t at = hu_trace_op_of(ask->trace, call); at != HU_NONE && n < MOST; at = ask->s.parent[at]) {
        if (!hu_kind_in(ask->s.kind[at], HU_BIT(CPU_OP) | HU_BIT(USER)) || ask->names[ask->s.name[at]] & HU_NAME_STEP)
            continue;
        names[n] = hu_ask_name(ask, at);
        size += names[n++].n + 3;
    }
    text = hu_arena_alloc(ask->arena, size);
    for (size_t i = 0; text && i < n; i++) {
        memcpy(text + length, " < ", i ? 3 : 0);
        length += i ? 3 : 0;
        memcpy(text + length, names[i].p, names[i].n);
        length += names[i].n;
    }
    return (hu_str){text, length};
}

static uint64_t place_key(const hu_ask *ask, uint32_t call)
{
    uint64_t key = hu_hash_u64(ask->s.name[call]) ^ hu_group_key(ask, HU_GROUP_STACK, HU_WAIT_FRAMES, call);
    int      n = 0;

    for (uint32_t at = hu_trace_op_of(ask->trace, call); at != HU_NONE && n < 4; at = ask->s.parent[at])
        if (hu_kind_in(ask->s.kind[at], HU_BIT(CPU_OP) | HU_BIT(USER)) && !(ask->names[ask->s.name[at]] & HU_NAME_STEP)) {
            key = hu_hash_u64(key ^ ask->s.name[at]);
            n++;
        }
    return key;
}

/*
 * Profilers synchronise when they stop, and so do programs before they say how long they took: nothing is launched any more
 * that a wait could hold up.  The end of a step is another matter, for there is a next one even where it was not recorded.
 */
static bool is_final(const work *w, uint32_t call)
{
    const hu_ask *ask = w->ask;
    const bool    has_steps = ask->steps && ask->steps->source != HU_STEPS_NONE && ask->counted;

    return ask->s.start_ns[call] > w->last_launch_ns && !(has_steps && hu_select_in(ask->counted, ask->s.start_ns[call]));
}

static void find_last_launch(work *w)
{
    w->last_launch_ns = INT64_MIN;
    for (uint32_t i = 0; i < w->ask->s.n; i++)
        if (is_call(w, i) && w->ask->names[w->ask->s.name[i]] & HU_NAME_LAUNCH && w->ask->s.start_ns[i] > w->last_launch_ns)
            w->last_launch_ns = w->ask->s.start_ns[i];
}

static bool add_wait(work *w, uint32_t call, bool is_last)
{
    const hu_ask *ask = w->ask;
    uint32_t     *place = hu_map_put(&w->wait_of_place, place_key(ask, call));
    hu_wait      *row;

    if (!place)
        return false;
    if (*place == HU_NONE) {
        hu_wait fresh = {.call = hu_ask_name(ask, call),
                         .op = operators_around(ask, call),
                         .stack = hu_group_text(ask, HU_GROUP_STACK, HU_WAIT_FRAMES, call, ask->arena)};

        if (!fresh.op.p || !fresh.stack.p || !hu_vec_push(ask->arena, &w->waits, fresh))
            return false;
        *place = (uint32_t)w->waits.n - 1;
    }
    row = &w->waits.at[*place];
    row->calls++;
    row->total_ns += ask->s.dur_ns[call];
    row->final_calls += is_last;
    row->final_ns += is_last ? ask->s.dur_ns[call] : 0;
    row->max_ns = ask->s.dur_ns[call] > row->max_ns ? ask->s.dur_ns[call] : row->max_ns;
    return true;
}

static int measure_waits(work *w, hu_calls *out, hu_error *err)
{
    const hu_ask *ask = w->ask;

    find_last_launch(w);
    for (uint32_t i = 0; i < ask->s.n; i++) {
        bool is_last;

        if (!is_call(w, i))
            continue;
        if (ask->names[ask->s.name[i]] & HU_NAME_ALLOC) {
            out->alloc_calls++;
            out->alloc_ns += ask->s.dur_ns[i];
            out->alloc_calls_in_steps += ask->counted && hu_select_in(ask->counted, ask->s.start_ns[i]);
        }
        if (!waits(ask, i))
            continue;
        is_last = is_final(w, i);
        out->wait_calls++;
        out->wait_ns += ask->s.dur_ns[i];
        out->final_calls += is_last;
        out->final_ns += is_last ? ask->s.dur_ns[i] : 0;
        if (!add_wait(w, i, is_last))
            return hu_fail_memory(err);
    }
    return 0;
}

static int by_total(const void *left, const void *right)
{
    const hu_call *a = left, *b = right;

    if (a->duration.sum != b->duration.sum)
        return a->duration.sum > b->duration.sum ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

static int by_wait(const void *left, const void *right)
{
    const hu_wait *a = left, *b = right;
    int            c;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    c = hu_str_compare(a->call, b->call);
    c = c ? c : hu_str_compare(a->op, b->op);
    return c ? c : hu_str_compare(a->stack, b->stack);
}

int hu_calls_measure(const hu_ask *ask, hu_calls *out, hu_error *err)
{
    const size_t names = hu_trace_string_count(ask->trace);
    hu_calls     result = {0};
    work         w = {.ask = ask};
    int          rc;

    w.row_of_name = hu_arena_alloc(ask->scratch, (names + 1) * sizeof *w.row_of_name);
    if (!w.row_of_name || !hu_map_init(&w.wait_of_place, ask->scratch, 64))
        return hu_fail_memory(err);
    memset(w.row_of_name, 0xff, (names + 1) * sizeof *w.row_of_name);
    if ((rc = measure_names(&w, err)) < 0 || (rc = measure_waits(&w, &result, err)) < 0)
        return rc;
    for (size_t i = 0; i < w.list.n; i++)
        result.total_ns += w.list.at[i].duration.sum;
    if (w.list.n)
        qsort(w.list.at, w.list.n, sizeof *w.list.at, by_total);
    if (w.waits.n)
        qsort(w.waits.at, w.waits.n, sizeof *w.waits.at, by_wait);
    result.at = w.list.at;
    result.n = w.list.n;
    result.waits = w.waits.at;
    result.n_waits = w.waits.n;
    *out = result;
    return 0;
}

static void call_key(const void *row, hu_str *a, hu_str *b)
{
    (void)b;
    *a = ((const hu_call *)row)->name;
}

static void add_call(void *left, const void *right)
{
    hu_stats_merge(&((hu_call *)left)->duration, &((const hu_call *)right)->duration);
}

/* The stack tells places apart; where there is none, the operators do. */
static void wait_key(const void *row, hu_str *a, hu_str *b)
{
    const hu_wait *w = row;

    *a = w->call;
    *b = w->stack.n ? w->stack : w->op;
}

static void add_waits(void *left, const void *right)
{
    hu_wait       *into = left;
    const hu_wait *from = right;

    into->calls += from->calls;
    into->total_ns += from->total_ns;
    into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
    into->final_calls += from->final_calls;
    into->final_ns += from->final_ns;
}

bool hu_calls_merge(hu_calls *into, const hu_calls *from, hu_arena *arena)
{
    static const hu_join_rule calls = {sizeof(hu_call), call_key, add_call, by_total};
    static const hu_join_rule places = {sizeof(hu_wait), wait_key, add_waits, by_wait};

    into->total_ns += from->total_ns;
    into->wait_ns += from->wait_ns;
    into->wait_calls += from->wait_calls;
    into->final_ns += from->final_ns;
    into->final_calls += from->final_calls;
    into->alloc_ns += from->alloc_ns;
    into->alloc_calls += from->alloc_calls;
    into->alloc_calls_in_steps += from->alloc_calls_in_steps;
    return hu_join_rows(&calls, (void **)&into->at, &into->n, from->at, from->n, arena) &&
           hu_join_rows(&places, (void **)&into->waits, &into->n_waits, from->waits, from->n_waits, arena);
}
