/* SPDX-License-Identifier: Apache-2.0
 * operators.c - self and total times of what ran on the host.
 *
 *     self host(i)    = duration(i) without what lies inside (trace/nest.h, of the slices that have rows)
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
#include "trace/nest.h"

enum { COUNTED = HU_BIT(CPU_OP) | HU_BIT(USER) | HU_BIT(RUNTIME) | HU_BIT(DRIVER) };

typedef HU_VEC(hu_operator) row_list;

/* Of a row: until when its last slice ran, and on which thread. */
typedef struct {
    int64_t  until_ns;
    uint32_t track;
} row_end;

typedef struct {
    const hu_ask *ask;
    hu_grouping   grouping;
    int           frames;
    uint32_t     *parent;      /* by slice: the innermost one around it that has a row */
    int64_t      *self_ns;     /* by slice: host */
    int64_t      *device_ns;   /* by slice: device, self first, then total */
    uint32_t     *row;         /* by slice: 1 + its row, 0 for what has none: no page of it is touched for those */
    uint32_t     *row_of_name; /* by string id, where names alone make groups */
    hu_map        row_of_group;
    uint32_t      step_row;
    row_list      list;
    HU_VEC(row_end) ends; /* by row */
    uint8_t *is_inner;    /* by slice: it lies in another of its row */
} work;

static bool is_counted(const work *w, uint32_t slice)
{
    return hu_kind_in(w->ask->s.kind[slice], COUNTED);
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

static bool put_row(work *w, uint32_t slice)
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
    w->row[slice] = *place + 1;
    return true;
}

/* Does a slice lie in another of its row?  Slices of a thread come in order, outer ones first. */
static bool is_inner(work *w, uint32_t slice)
{
    row_end      *e = &w->ends.at[w->row[slice] - 1];
    const int64_t end = hu_ask_end(w->ask, slice);

    if (e->track == w->ask->s.track[slice] && end <= e->until_ns)
        return true;
    *e = (row_end){end, w->ask->s.track[slice]};
    return false;
}

static bool add_rows(work *w, hu_operators *out)
{
    const hu_ask *ask = w->ask;

    for (size_t k = 0; k < ask->s.n; k++) {
        const uint32_t i = ask->order[k];
        hu_operator   *row;

        if (!is_counted(w, i) || !hu_select_in(ask->scope, ask->s.start_ns[i]))
            continue;
        if (!put_row(w, i))
            return false;
        row = &w->list.at[w->row[i] - 1];
        row->calls++;
        row->calls_in_steps += ask->counted && hu_select_in(ask->counted, ask->s.start_ns[i]);
        row->host_total_ns += ask->s.dur_ns[i];
        w->is_inner[i] = is_inner(w, i);
        row->host_self_ns += w->self_ns[i];
        row->device_self_ns += w->device_ns[i];
        out->host_self_sum_ns += w->self_ns[i];
        out->device_self_sum_ns += w->device_ns[i];
    }
    return true;
}

/* Children come after their parents in the order, so one pass backwards carries totals up. */
static void add_device_totals(work *w)
{
    for (size_t k = w->ask->s.n; k-- > 0;) {
        const uint32_t i = w->ask->order[k];
        uint32_t       above;

        if (!is_counted(w, i) || !w->device_ns[i])
            continue;
        above = w->parent[i];
        if (above != HU_NONE)
            w->device_ns[above] += w->device_ns[i];
        if (w->row[i] && !w->is_inner[i])
            w->list.at[w->row[i] - 1].device_total_ns += w->device_ns[i];
    }
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

    w->parent = hu_arena_alloc(scratch, (n + 1) * sizeof *w->parent);
    w->self_ns = hu_arena_alloc(scratch, (n + 1) * sizeof *w->self_ns);
    w->device_ns = hu_arena_calloc(scratch, n + 1, sizeof *w->device_ns);
    w->is_inner = hu_arena_calloc(scratch, n + 1, 1);
    w->row = hu_arena_calloc(scratch, n + 1, sizeof *w->row);
    w->row_of_name = hu_arena_alloc(scratch, (names + 1) * sizeof *w->row_of_name);
    if (!w->parent || !w->self_ns || !w->device_ns || !w->is_inner || !w->row || !w->row_of_name ||
        !hu_map_init(&w->row_of_group, scratch, 256))
        return false;
    memset(w->row_of_name, 0xff, (names + 1) * sizeof *w->row_of_name);
    w->step_row = HU_NONE;
    return true;
}

int hu_operators_measure(const hu_ask *ask, hu_grouping grouping, int frames, hu_operators *out, hu_error *err)
{
    work         w = {.ask = ask, .grouping = grouping, .frames = frames};
    hu_operators result = {.grouping = grouping};
    size_t       n_memory;

    if (!prepare(&w) || !hu_nest_kinds(ask->trace, COUNTED, w.parent, w.self_ns, ask->scratch))
        return hu_fail_memory(err);
    add_device_self(&w);
    if (!add_rows(&w, &result))
        return hu_fail_memory(err);
    add_device_totals(&w);
    add_memory(&w);
    hu_trace_memory(ask->trace, &n_memory);
    result.has_memory = n_memory > 0;
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
