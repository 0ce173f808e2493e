/* SPDX-License-Identifier: Apache-2.0
 * operators.c - self and total times of what ran on the host.
 *
 *     self host(i)    = duration(i) - sum of durations of its direct children
 *     self device(i)  = sum of the GPU work whose innermost operator is i
 *     total device(i) = self device(i) + total device of its children
 *
 * Source: torch.autograd.profiler's key_averages(), whose table also lists runtime calls and annotations, and skips
 * Python frames.  Device time is a sum over kernels, not a union, as there.  The work of an operator that calls another of
 * its row counts once in the row's device total, which is never more than what the devices did; in the host total it counts
 * again, as there.
 */
#include "analyze/operators.h"

#include <stdlib.h>

#include "analyze/join.h"
#include "base/map.h"

enum { COUNTED = HU_BIT(CPU_OP) | HU_BIT(USER) | HU_BIT(RUNTIME) | HU_BIT(DRIVER) };

typedef HU_VEC(hu_operator) row_list;

/* Of a row: until when its last slice ran, and on which thread. */
typedef struct {
    int64_t  until_ns;
    uint32_t track;
} row_end;

/* A slice that is not over yet. */
typedef struct {
    int64_t  self_ns, device_ns; /* less what is known of its children, with what is known of them */
    uint32_t slice, row;         /* HU_NONE: outside of what was asked for */
    bool     is_inner;           /* it lies in another of its row */
} open_slice;

typedef struct {
    const hu_ask *ask;
    hu_grouping   grouping;
    int           frames;
    int64_t      *device_ns;   /* by slice: of the work that it launched itself */
    uint32_t     *row;         /* by slice: 1 + its row, 0 for what has none; NULL without allocations */
    uint32_t     *row_of_name; /* by string id, where names alone make groups */
    hu_map        row_of_group;
    uint32_t      step_row;
    size_t        window; /* of the steps that count, where the last slice was sought */
    row_list      list;
    hu_operators *out;
    HU_VEC(row_end) ends;    /* by row */
    HU_VEC(open_slice) open; /* of one thread, outer ones first */
} work;

static bool is_counted(const work *w, uint32_t slice)
{
    return hu_kind_in(w->ask->s.kind[slice], COUNTED);
}

/* The innermost slice around `slice` that has a row. */
static uint32_t counted_parent(const work *w, uint32_t slice)
{
    uint32_t at = w->ask->s.parent[slice];

    while (at != HU_NONE && !is_counted(w, at))
        at = w->ask->s.parent[at];
    return at;
}

static bool is_step(const hu_ask *ask, uint32_t slice)
{
    return ask->names[ask->s.name[slice]] & HU_NAME_STEP ||
           (ask->s.kind[slice] == HU_KIND_USER && hu_steps_has_name(ask->steps, hu_ask_name(ask, slice)));
}

/* Where the row of this slice's group is noted; NULL when there is no memory. */
static uint32_t *place_of(work *w, uint32_t slice)
{
    const uint32_t name = w->ask->s.name[slice];
    uint64_t       key;

    if (is_step(w->ask, slice))
        return &w->step_row;
    if (w->grouping == HU_GROUP_NAME)
        return &w->row_of_name[name];
    key = hu_group_key(w->ask, w->grouping, w->frames, slice);
    return hu_map_put(&w->row_of_group, key >> 32 ? hu_hash_u64(key) ^ name : (uint64_t)name << 32 | key);
}

static bool put_row(work *w, uint32_t slice, uint32_t *out)
{
    uint32_t   *place = place_of(w, slice);
    hu_operator row = {.kind = w->ask->s.kind[slice]};

    if (!place)
        return false;
    if (*place == HU_NONE) {
        const bool is_one = is_step(w->ask, slice);

        row.name = !is_one                                               ? hu_ask_name(w->ask, slice)
                   : w->ask->names[w->ask->s.name[slice]] & HU_NAME_STEP ? HU_STR("ProfilerStep*")
                                                                         : w->ask->steps->what;
        row.group = is_one ? HU_STR("") : hu_group_text(w->ask, w->grouping, w->frames, slice, w->ask->arena);
        if (!row.group.p || !hu_vec_push(w->ask->arena, &w->list, row) ||
            !hu_vec_push(w->ask->scratch, &w->ends, ((row_end){INT64_MIN, HU_NONE})))
            return false;
        *place = (uint32_t)w->list.n - 1;
    }
    *out = *place;
    return true;
}

/* Does a slice lie in another of its row?  Slices of a thread come in order, outer ones first. */
static bool is_inner(work *w, uint32_t slice, uint32_t row)
{
    row_end      *e = &w->ends.at[row];
    const int64_t end = hu_ask_end(w->ask, slice);

    if (e->track == w->ask->s.track[slice] && end <= e->until_ns)
        return true;
    *e = (row_end){end, w->ask->s.track[slice]};
    return false;
}

/* All children of the innermost open slice are known. */
static void close_slice(work *w)
{
    const open_slice *o = &w->open.at[--w->open.n];
    hu_operator      *row = o->row == HU_NONE ? NULL : &w->list.at[o->row];
    const int64_t     self_ns = o->self_ns > 0 ? o->self_ns : 0;

    if (w->open.n)
        w->open.at[w->open.n - 1].device_ns += o->device_ns;
    if (!row)
        return;
    row->host_self_ns += self_ns;
    w->out->host_self_sum_ns += self_ns;
    row->device_total_ns += o->is_inner ? 0 : o->device_ns;
}

static bool open_slice_in_row(work *w, uint32_t i)
{
    const hu_ask *ask = w->ask;
    open_slice    o = {.slice = i, .row = HU_NONE, .self_ns = ask->s.dur_ns[i], .device_ns = w->device_ns[i]};
    hu_operator  *row;

    if (hu_select_in(ask->scope, ask->s.start_ns[i])) {
        if (!put_row(w, i, &o.row))
            return false;
        if (w->row)
            w->row[i] = o.row + 1;
        o.is_inner = is_inner(w, i, o.row);
        row = &w->list.at[o.row];
        row->calls++;
        row->calls_in_steps += ask->counted && hu_select_in_near(ask->counted, ask->s.start_ns[i], &w->window);
        row->host_total_ns += ask->s.dur_ns[i];
        row->device_self_ns += o.device_ns;
        w->out->device_self_sum_ns += o.device_ns;
    }
    return hu_vec_push(ask->scratch, &w->open, o);
}

/* Children come after their parents in the order, and what a slice lies in is open when its turn comes. */
static bool add_rows(work *w)
{
    const hu_ask *ask = w->ask;

    for (size_t k = 0; k < ask->s.n; k++) {
        const uint32_t i = ask->order[k];
        uint32_t       above;

        if (!is_counted(w, i))
            continue;
        above = counted_parent(w, i);
        while (w->open.n && w->open.at[w->open.n - 1].slice != above)
            close_slice(w);
        if (w->open.n)
            w->open.at[w->open.n - 1].self_ns -= ask->s.dur_ns[i];
        if (!open_slice_in_row(w, i))
            return false;
    }
    while (w->open.n)
        close_slice(w);
    return true;
}

static void add_device_self(work *w)
{
    for (size_t k = 0; k < w->ask->n_work; k++) {
        const uint32_t op = hu_trace_op_of(w->ask->trace, w->ask->work[k]);

        if (op != HU_NONE)
            w->device_ns[op] += w->ask->s.dur_ns[w->ask->work[k]];
    }
}

/* Allocations belong to the innermost operator of their thread at that time. */
static void add_memory(work *w)
{
    size_t                 n;
    const hu_memory_event *events = hu_trace_memory(w->ask->trace, &n);

    for (size_t i = 0; i < n; i++) {
        const uint32_t slice = hu_ask_slice_at(w->ask, events[i].track, events[i].time_ns, COUNTED);
        hu_operator   *row;

        if (slice == HU_NONE || !w->row[slice])
            continue;
        row = &w->list.at[w->row[slice] - 1];
        if (events[i].device_type == 0)
            row->host_bytes += events[i].bytes;
        else
            row->device_bytes += events[i].bytes;
    }
}

static int by_cost(const void *left, const void *right)
{
    const hu_operator *a = left, *b = right;
    int                c;

    if (a->device_self_ns != b->device_self_ns)
        return a->device_self_ns > b->device_self_ns ? -1 : 1;
    if (a->host_self_ns != b->host_self_ns)
        return a->host_self_ns > b->host_self_ns ? -1 : 1;
    c = hu_str_compare(a->name, b->name);
    return c ? c : hu_str_compare(a->group, b->group);
}

static bool prepare(work *w)
{
    hu_arena    *scratch = w->ask->scratch;
    const size_t n = w->ask->s.n, names = hu_trace_string_count(w->ask->trace);
    size_t       n_memory;

    hu_trace_memory(w->ask->trace, &n_memory);
    w->out->has_memory = n_memory > 0;
    w->device_ns = hu_arena_calloc(scratch, n + 1, sizeof *w->device_ns);
    w->row = n_memory ? hu_arena_calloc(scratch, n + 1, sizeof *w->row) : NULL;
    w->row_of_name = hu_arena_alloc(scratch, (names + 1) * sizeof *w->row_of_name);
    if (!w->device_ns || (n_memory && !w->row) || !w->row_of_name || !hu_map_init(&w->row_of_group, scratch, 256))
        return false;
    memset(w->row_of_name, 0xff, (names + 1) * sizeof *w->row_of_name);
    w->step_row = HU_NONE;
    return true;
}

int hu_operators_measure(const hu_ask *ask, hu_grouping grouping, int frames, hu_operators *out, hu_error *err)
{
    hu_operators result = {.grouping = grouping};
    work         w = {.ask = ask, .grouping = grouping, .frames = frames, .out = &result};

    if (!prepare(&w))
        return hu_fail_memory(err);
    add_device_self(&w);
    if (!add_rows(&w))
        return hu_fail_memory(err);
    add_memory(&w);
    if (w.list.n)
        qsort(w.list.at, w.list.n, sizeof *w.list.at, by_cost);
    result.at = w.list.at;
    result.n = w.list.n;
    *out = result;
    return 0;
}

static void row_key(const void *row, hu_str *a, hu_str *b)
{
    *a = ((const hu_operator *)row)->name;
    *b = ((const hu_operator *)row)->group;
}

static void add_row(void *left, const void *right)
{
    hu_operator       *into = left;
    const hu_operator *from = right;

    into->calls += from->calls;
    into->host_total_ns += from->host_total_ns;
    into->host_self_ns += from->host_self_ns;
    into->device_total_ns += from->device_total_ns;
    into->device_self_ns += from->device_self_ns;
    into->host_bytes += from->host_bytes;
    into->device_bytes += from->device_bytes;
    into->calls_in_steps += from->calls_in_steps;
}

bool hu_operators_merge(hu_operators *into, const hu_operators *from, hu_arena *arena)
{
    static const hu_join_rule rule = {sizeof(hu_operator), row_key, add_row, by_cost};

    into->host_self_sum_ns += from->host_self_sum_ns;
    into->device_self_sum_ns += from->device_self_sum_ns;
    into->has_memory |= from->has_memory;
    return hu_join_rows(&rule, (void **)&into->at, &into->n, from->at, from->n, arena);
}
