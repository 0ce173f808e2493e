/* SPDX-License-Identifier: Apache-2.0
 * operators.c - self and total times of what ran on the host.
 *
 *     self host(i)    = duration(i) - sum of durations of its direct children
 *     self device(i)  = sum of the device work whose innermost operator is i
 *     total device(i) = self device(i) + total device of its children
 *
 * Source: torch.autograd.profiler's key_averages(), whose table also lists runtime calls and annotations, and skips
 * Python frames.  Device time is a sum over kernels, not a union, as there.  Like there, an operator that calls another
 * of the same name counts twice in the totals; self times never count twice.
 */
#include "analyze/operators.h"

#include <stdlib.h>

#include "analyze/names.h"
#include "analyze/select.h"
#include "base/map.h"

enum { COUNTED = HU_BIT(CPU_OP) | HU_BIT(USER) | HU_BIT(RUNTIME) | HU_BIT(DRIVER) };

typedef struct {
    const hu_trace *trace;
    hu_slices       s;
    const uint32_t *order;
    int64_t        *self_ns;        /* by slice: host */
    int64_t        *device_ns;      /* by slice: device, self first, then total */
    const uint8_t  *names;
    hu_map          rows;           /* group to row */
    uint32_t        step_name;
} work;

static bool is_counted(const work *w, uint32_t slice)
{
    return hu_kind_in(w->s.kind[slice], COUNTED);
}

/* The innermost slice around `slice` that has a row. */
static uint32_t counted_parent(const work *w, uint32_t slice)
{
    uint32_t at = w->s.parent[slice];

    while (at != HU_NONE && !is_counted(w, at))
        at = w->s.parent[at];
    return at;
}

static void measure_self(work *w)
{
    for (uint32_t i = 0; i < w->s.n; i++) {
        uint32_t above;

        if (!is_counted(w, i))
            continue;
        w->self_ns[i] += w->s.dur_ns[i];
        above = counted_parent(w, i);
        if (above != HU_NONE)
            w->self_ns[above] -= w->s.dur_ns[i];
    }
}

static uint64_t group_of(const work *w, uint32_t slice, bool by_shape)
{
    const uint32_t name = w->names[w->s.name[slice]] & HU_NAME_STEP ? w->step_name : w->s.name[slice];
    uint32_t       dims = 0;

    if (by_shape && w->s.detail[slice] != HU_NONE && hu_kind_in(w->s.kind[slice], HU_BIT(CPU_OP) | HU_BIT(USER)))
        dims = hu_trace_op_detail(w->trace, w->s.detail[slice])->dims;
    return (uint64_t)name << 32 | dims;
}

typedef HU_VEC(hu_operator) row_list;

static hu_operator *row_of(work *w, uint32_t slice, bool by_shape, hu_arena *arena, row_list *list)
{
    const uint64_t group = group_of(w, slice, by_shape);
    uint32_t      *place = hu_map_put(&w->rows, group);
    hu_operator    row;

    if (!place)
        return NULL;
    if (*place == HU_MAP_NONE) {
        row = (hu_operator){.name = (uint32_t)(group >> 32) == w->step_name
                                        ? HU_STR("ProfilerStep*")
                                        : hu_trace_text(w->trace, w->s.name[slice]),
                            .shapes = hu_trace_text(w->trace, (uint32_t)group),
                            .kind = w->s.kind[slice]};
        *place = (uint32_t)list->n;
        if (!hu_vec_push(arena, list, row))
            return NULL;
    }
    return &list->at[*place];
}

static bool add_rows(work *w, const hu_operators_options *o, hu_arena *arena, row_list *list, hu_operators *out)
{
    for (size_t k = 0; k < w->s.n; k++) {
        const uint32_t i = w->order[k];
        hu_operator   *row;

        if (!is_counted(w, i) || !hu_select_in(o->scope, w->s.start_ns[i]))
            continue;
        row = row_of(w, i, o->by_shape, arena, list);
        if (!row)
            return false;
        row->calls++;
        row->calls_in_steps += o->steps && hu_select_in(o->steps, w->s.start_ns[i]);
        row->host_total_ns += w->s.dur_ns[i];
        row->host_self_ns += w->self_ns[i] > 0 ? w->self_ns[i] : 0;
        row->device_self_ns += w->device_ns[i];
        out->host_self_sum_ns += w->self_ns[i] > 0 ? w->self_ns[i] : 0;
        out->device_self_sum_ns += w->device_ns[i];
    }
    return true;
}

/* Children come after their parents in the order, so one pass backwards carries totals up. */
static bool add_device_totals(work *w, const hu_operators_options *o, hu_arena *arena, row_list *list)
{
    for (size_t k = w->s.n; k-- > 0;) {
        const uint32_t i = w->order[k];
        hu_operator   *row;
        uint32_t       above;

        if (!is_counted(w, i) || !w->device_ns[i])
            continue;
        above = counted_parent(w, i);
        if (above != HU_NONE)
            w->device_ns[above] += w->device_ns[i];
        if (!hu_select_in(o->scope, w->s.start_ns[i]))
            continue;
        row = row_of(w, i, o->by_shape, arena, list);
        if (!row)
            return false;
        row->device_total_ns += w->device_ns[i];
    }
    return true;
}

static void add_device_self(work *w)
{
    for (uint32_t i = 0; i < w->s.n; i++) {
        uint32_t op;

        if (!hu_kind_in(w->s.kind[i], HU_KINDS_DEVICE))
            continue;
        op = hu_trace_op_of(w->trace, i);
        if (op != HU_NONE)
            w->device_ns[op] += w->s.dur_ns[i];
    }
}

/* The innermost counted slice of a track at a time. */
static uint32_t slice_at(const work *w, const hu_track *track, int64_t time_ns)
{
    uint32_t low = track->first, high = track->first + track->count, at;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (w->s.start_ns[w->order[middle]] <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == track->first)
        return HU_NONE;
    for (at = w->order[low - 1]; at != HU_NONE; at = w->s.parent[at])
        if (is_counted(w, at) && w->s.start_ns[at] + w->s.dur_ns[at] >= time_ns)
            return at;
    return HU_NONE;
}

static bool add_memory(work *w, const hu_operators_options *o, hu_arena *arena, row_list *list)
{
    size_t n, n_tracks;
    const hu_memory_event *events = hu_trace_memory(w->trace, &n);
    const hu_track        *tracks = hu_trace_tracks(w->trace, &n_tracks);

    for (size_t i = 0; i < n; i++) {
        const uint32_t slice = slice_at(w, &tracks[events[i].track], events[i].time_ns);
        hu_operator   *row;

        if (slice == HU_NONE || !hu_select_in(o->scope, w->s.start_ns[slice]))
            continue;
        row = row_of(w, slice, o->by_shape, arena, list);
        if (!row)
            return false;
        if (events[i].device_type == 0)
            row->host_bytes += events[i].bytes;
        else
            row->device_bytes += events[i].bytes;
    }
    return true;
}

static int by_cost(const void *left, const void *right)
{
    const hu_operator *a = left, *b = right;
    int c;

    if (a->device_self_ns != b->device_self_ns)
        return a->device_self_ns > b->device_self_ns ? -1 : 1;
    if (a->host_self_ns != b->host_self_ns)
        return a->host_self_ns > b->host_self_ns ? -1 : 1;
    c = hu_str_compare(a->name, b->name);
    return c ? c : hu_str_compare(a->shapes, b->shapes);
}

int hu_operators_measure(const hu_trace *trace, const hu_operators_options *options, hu_arena *arena, hu_arena *scratch,
                         hu_operators *out, hu_error *err)
{
    work         w = {.trace = trace, .s = hu_trace_slices(trace), .order = hu_trace_order(trace)};
    row_list     list = {0};
    hu_operators result = {0};
    size_t       n_memory;

    w.step_name = UINT32_MAX;
    w.names = hu_names_classify(trace, scratch);
    w.self_ns = hu_arena_calloc(scratch, w.s.n + 1, sizeof *w.self_ns);
    w.device_ns = hu_arena_calloc(scratch, w.s.n + 1, sizeof *w.device_ns);
    if (!w.names || !w.self_ns || !w.device_ns || !hu_map_init(&w.rows, scratch, 256))
        return hu_fail_memory(err);
    measure_self(&w);
    add_device_self(&w);
    if (!add_rows(&w, options, arena, &list, &result) || !add_device_totals(&w, options, arena, &list) ||
        !add_memory(&w, options, arena, &list))
        return hu_fail_memory(err);
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_cost);
    hu_trace_memory(trace, &n_memory);
    result.has_memory = n_memory > 0;
    result.at = list.at;
    result.n = list.n;
    *out = result;
    return 0;
}
