/* SPDX-License-Identifier: Apache-2.0
 * overheads.c - what a step pays for besides its own work.
 *
 * Recompute (activation checkpointing).  Autograd gives a sequence number to an operator when it records it for a backward
 * pass; inside of backward nothing is recorded, except by a checkpoint that runs its part of forward again.  So: an operator
 * with a sequence number and no forward thread, inside of an operator that has one (a backward node), recomputes.  A second
 * derivative (create_graph=True) looks the same.  Where nothing in the node of a reentrant checkpoint has such a number (no
 * shapes were recorded), its name says it: CheckpointFunctionBackward runs its part of forward, and nodes of backward
 * after it.
 *
 * Garbage collection is known from "Python GC" (record_python_gc_info=True) and, with stacks, from calls of gc.collect().
 * The automatic collector leaves no mark in other traces, which is why `gc_recorded` says whether absence means anything.
 *
 * Profiler: slices of kind overhead, such as "Activity Buffer Request".
 */
#include "analyze/overheads.h"

#include <stdlib.h>

#include "analyze/join.h"

static const hu_op_detail *detail_of(const hu_ask *ask, uint32_t i)
{
    return ask->s.kind[i] == HU_KIND_CPU_OP && ask->s.detail[i] != HU_NONE ? hu_trace_op_detail(ask->trace, ask->s.detail[i])
                                                                           : NULL;
}

enum { IN_BACKWARD = 1, RECOMPUTES = 2, IN_CHECKPOINT = 4, NUMBERED = 8 };

static bool is_checkpoint(const hu_ask *ask, uint32_t i)
{
    return ask->s.kind[i] == HU_KIND_CPU_OP && hu_str_ends(hu_ask_name(ask, i), HU_STR("CheckpointFunctionBackward"));
}

/* What checkpoints run without numbers: the operators in their nodes, but for those of the backward pass. */
static void find_unnumbered(const hu_ask *ask, uint8_t *state)
{
    for (size_t k = 0; k < ask->s.n; k++) {
        const uint32_t i = ask->order[k], above = ask->s.parent[i];

        if (!hu_kind_in(ask->s.kind[i], HU_KINDS_HOST))
            continue;
        if (is_checkpoint(ask, i))
            state[i] |= state[i] & NUMBERED ? 0 : IN_CHECKPOINT;
        else if (above != HU_NONE && state[above] & IN_CHECKPOINT &&
                 !hu_str_starts(hu_ask_name(ask, i), HU_STR("autograd::engine::")))
            state[i] |= IN_CHECKPOINT | RECOMPUTES;
    }
}

/* Notes in all slices around an operator that it has a number. */
static void say_numbered(const hu_ask *ask, uint8_t *state, uint32_t i)
{
    for (; i != HU_NONE && !(state[i] & NUMBERED); i = ask->s.parent[i])
        state[i] |= NUMBERED;
}

const uint8_t *hu_overheads_find_recompute(const hu_ask *ask, hu_arena *arena)
{
    uint8_t *state = hu_arena_calloc(arena, ask->s.n + 1, 1);

    if (!state)
        return NULL;
    for (size_t k = 0; k < ask->s.n; k++) { /* parents come before their children */
        const uint32_t      i = ask->order[k], above = ask->s.parent[i];
        const hu_op_detail *d;

        if (!hu_kind_in(ask->s.kind[i], HU_KINDS_HOST))
            continue;
        if (above != HU_NONE && state[above])
            state[i] = state[above] & (IN_BACKWARD | RECOMPUTES);
        d = detail_of(ask, i);
        if (!d || d->sequence < 0)
            continue;
        if (d->forward_thread)
            state[i] |= IN_BACKWARD;
        else if (state[i] & IN_BACKWARD) {
            state[i] |= RECOMPUTES;
            say_numbered(ask, state, i);
        }
    }
    find_unnumbered(ask, state);
    for (size_t i = 0; i < ask->s.n; i++)
        if (state[i]) /* pages of zeros that nobody wrote cost no memory */
            state[i] = state[i] & RECOMPUTES ? 1 : 0;
    return state;
}

static int by_device(const void *left, const void *right)
{
    const hu_recompute *a = left, *b = right;

    if (a->device_ns != b->device_ns)
        return a->device_ns > b->device_ns ? -1 : 1;
    if (a->host_ns != b->host_ns)
        return a->host_ns > b->host_ns ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

static int by_total(const void *left, const void *right)
{
    const hu_overhead *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

typedef struct {
    const hu_ask  *ask;
    const uint8_t *again; /* by slice: recomputes */
    uint32_t      *row_of_name;
    HU_VEC(hu_recompute) list;
} work;

static hu_recompute *row_of(work *w, uint32_t slice)
{
    uint32_t *place = &w->row_of_name[w->ask->s.name[slice]];

    if (*place == HU_NONE) {
        if (!hu_vec_push(w->ask->arena, &w->list, (hu_recompute){.name = hu_ask_name(w->ask, slice)}))
            return NULL;
        *place = (uint32_t)w->list.n - 1;
    }
    return &w->list.at[*place];
}

static bool is_outermost(const work *w, uint32_t i)
{
    const uint32_t above = w->ask->s.parent[i];

    return above == HU_NONE || !w->again[above];
}

static int measure_recompute(const hu_ask *ask, hu_overheads *out, hu_error *err)
{
    const size_t names = hu_trace_string_count(ask->trace);
    work         w = {.ask = ask, .again = ask->recompute};

    w.row_of_name = hu_arena_alloc(ask->scratch, (names + 1) * sizeof *w.row_of_name);
    if (!w.again || !w.row_of_name)
        return hu_fail_memory(err);
    memset(w.row_of_name, 0xff, (names + 1) * sizeof *w.row_of_name);
    for (uint32_t i = 0; i < ask->s.n; i++) {
        hu_recompute *row;

        if (!w.again[i] || ask->s.kind[i] != HU_KIND_CPU_OP || !is_outermost(&w, i) ||
            !hu_select_in(ask->scope, ask->s.start_ns[i]))
            continue;
        row = row_of(&w, i);
        if (!row)
            return hu_fail_memory(err);
        row->calls++;
        row->host_ns += ask->s.dur_ns[i];
        out->recompute_calls++;
        out->recompute_host_ns += ask->s.dur_ns[i];
    }
    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k];
        uint32_t       op;
        hu_recompute  *row;

        if (!hu_ask_has(ask, i))
            continue;
        out->device_ns += ask->s.dur_ns[i];
        op = hu_trace_op_of(ask->trace, i);
        if (op == HU_NONE || !w.again[op])
            continue;
        while (!is_outermost(&w, op))
            op = ask->s.parent[op];
        row = row_of(&w, op);
        if (!row)
            return hu_fail_memory(err);
        row->device_ns += ask->s.dur_ns[i];
        out->recompute_device_ns += ask->s.dur_ns[i];
    }
    if (w.list.n)
        qsort(w.list.at, w.list.n, sizeof *w.list.at, by_device);
    out->recomputed = w.list.at;
    out->n_recomputed = w.list.n;
    return 0;
}

/* With stacks a call of gc.collect() contains the collector's own record. */
static bool is_outermost_collection(const hu_ask *ask, uint32_t i)
{
    const uint32_t above = ask->s.parent[i];

    return (ask->names[ask->s.name[i]] & HU_NAME_GC) && !(above != HU_NONE && (ask->names[ask->s.name[above]] & HU_NAME_GC));
}

static int measure_profiler(const hu_ask *ask, hu_overheads *out, hu_error *err)
{
    const size_t names = hu_trace_string_count(ask->trace);
    uint32_t    *row = hu_arena_alloc(ask->scratch, (names + 1) * sizeof *row);
    hu_intervals profiler = {0}, gc = {0};
    int64_t      first = INT64_MAX, last = INT64_MIN;
    HU_VEC(hu_overhead) list = {0};

    if (!row)
        return hu_fail_memory(err);
    memset(row, 0xff, (names + 1) * sizeof *row);
    for (uint32_t i = 0; i < ask->s.n; i++) {
        const int64_t start = ask->s.start_ns[i], end = hu_ask_end(ask, i);
        const uint8_t kind = ask->s.kind[i];
        uint32_t     *place = &row[ask->s.name[i]];

        if (hu_kind_in(kind, HU_KINDS_HOST | HU_KINDS_DEVICE)) {
            first = start < first ? start : first;
            last = end > last ? end : last;
        }
        if (kind == HU_KIND_PYTHON) {
            out->gc_recorded = true;
            if (is_outermost_collection(ask, i)) {
                out->gc_calls++;
                out->gc_most_ns = ask->s.dur_ns[i] > out->gc_most_ns ? ask->s.dur_ns[i] : out->gc_most_ns;
                if (!hu_intervals_add(ask->scratch, &gc, start, end))
                    return hu_fail_memory(err);
            }
        }
        if (kind != HU_KIND_OVERHEAD)
            continue;
        if (*place == HU_NONE) {
            if (!hu_vec_push(ask->arena, &list, (hu_overhead){.name = hu_ask_name(ask, i)}))
                return hu_fail_memory(err);
            *place = (uint32_t)list.n - 1;
        }
        list.at[*place].calls++;
        list.at[*place].total_ns += ask->s.dur_ns[i];
        if (!hu_intervals_add(ask->scratch, &profiler, start, end))
            return hu_fail_memory(err);
    }
    if (!hu_intervals_unite(ask->scratch, &profiler) || !hu_intervals_unite(ask->scratch, &gc))
        return hu_fail_memory(err);
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_total);
    out->at = list.at;
    out->n = list.n;
    out->span_ns = last > first ? last - first : 0;
    out->gc_ns = hu_intervals_length(&gc);
    out->profiler_ns = hu_intervals_length(&profiler);
    if (ask->counted)
        out->profiler_in_steps_ns = hu_intervals_common(&profiler, ask->counted);
    return 0;
}

int hu_overheads_measure(const hu_ask *ask, hu_overheads *out, hu_error *err)
{
    hu_overheads result = {0};
    int          rc = measure_recompute(ask, &result, err);

    if (rc == 0)
        rc = measure_profiler(ask, &result, err);
    if (rc == 0)
        *out = result;
    return rc;
}

static void recompute_key(const void *row, hu_str *a, hu_str *b)
{
    (void)b;
    *a = ((const hu_recompute *)row)->name;
}

static void add_recompute(void *left, const void *right)
{
    hu_recompute       *into = left;
    const hu_recompute *from = right;

    into->calls += from->calls;
    into->device_ns += from->device_ns;
    into->host_ns += from->host_ns;
}

static void overhead_key(const void *row, hu_str *a, hu_str *b)
{
    (void)b;
    *a = ((const hu_overhead *)row)->name;
}

static void add_overhead(void *left, const void *right)
{
    ((hu_overhead *)left)->calls += ((const hu_overhead *)right)->calls;
    ((hu_overhead *)left)->total_ns += ((const hu_overhead *)right)->total_ns;
}

bool hu_overheads_merge(hu_overheads *into, const hu_overheads *from, hu_arena *arena)
{
    static const hu_join_rule recomputed = {sizeof(hu_recompute), recompute_key, add_recompute, by_device};
    static const hu_join_rule overheads = {sizeof(hu_overhead), overhead_key, add_overhead, by_total};

    into->span_ns += from->span_ns;
    into->recompute_calls += from->recompute_calls;
    into->recompute_host_ns += from->recompute_host_ns;
    into->recompute_device_ns += from->recompute_device_ns;
    into->device_ns += from->device_ns;
    into->gc_calls += from->gc_calls;
    into->gc_ns += from->gc_ns;
    into->gc_most_ns = from->gc_most_ns > into->gc_most_ns ? from->gc_most_ns : into->gc_most_ns;
    into->gc_recorded |= from->gc_recorded;
    into->profiler_ns += from->profiler_ns;
    into->profiler_in_steps_ns += from->profiler_in_steps_ns;
    return hu_join_rows(&recomputed, (void **)&into->recomputed, &into->n_recomputed, from->recomputed, from->n_recomputed,
                        arena) &&
           hu_join_rows(&overheads, (void **)&into->at, &into->n, from->at, from->n, arena);
}
