/* SPDX-License-Identifier: Apache-2.0
 * kernels.c - one pass over device slices; sums of integers, so that the order of the file cannot matter.
 *
 * ROCm writes grid and block on the launching call instead of the kernel; they are taken from there.
 */
#include "analyze/kernels.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/select.h"
#include "base/map.h"

typedef struct {
    double mean, squares;                   /* Welford's */
    double occupancy_sum, occupancy_ns;     /* weighted by duration */
} moments;

static void read_geometry(const hu_trace *trace, const hu_slices *s, uint32_t i, hu_geometry *g, uint16_t *registers)
{
    const hu_kernel_detail *k = s->detail[i] != HU_NONE ? hu_trace_kernel_detail(trace, s->detail[i]) : NULL;
    uint32_t launch;

    *g = (hu_geometry){0};
    *registers = k ? k->registers : 0;
    if (k && (k->grid[0] || k->block[0])) {
        memcpy(g->grid, k->grid, sizeof g->grid);
        memcpy(g->block, k->block, sizeof g->block);
        g->shared_bytes = k->shared_bytes;
        return;
    }
    launch = hu_trace_launch_of(trace, i);
    if (launch != HU_NONE && s->detail[launch] != HU_NONE) {
        const hu_call_detail *c = hu_trace_call_detail(trace, s->detail[launch]);

        if (c->geometry)
            *g = *hu_trace_geometry(trace, c->geometry);
    }
}

static void add(const hu_trace *trace, const hu_slices *s, uint32_t i, hu_kernel *row, moments *m)
{
    const int64_t dur = s->dur_ns[i];
    const double  off = (double)dur - m->mean;
    hu_geometry   g;
    uint16_t      registers;

    read_geometry(trace, s, i, &g, &registers);
    if (row->calls == 0) {
        row->min_ns = row->max_ns = dur;
        memcpy(row->grid, g.grid, sizeof g.grid);
        memcpy(row->block, g.block, sizeof g.block);
        row->registers = registers;
        row->shared_bytes = g.shared_bytes;
    } else if (memcmp(row->grid, g.grid, sizeof g.grid) != 0 || memcmp(row->block, g.block, sizeof g.block) != 0) {
        row->geometry_varies = true;
    }
    row->calls++;
    row->total_ns += dur;
    row->min_ns = dur < row->min_ns ? dur : row->min_ns;
    row->max_ns = dur > row->max_ns ? dur : row->max_ns;
    m->mean += off / (double)row->calls;
    m->squares += off * ((double)dur - m->mean);
    if (s->detail[i] != HU_NONE) {
        const float occupancy = hu_trace_kernel_detail(trace, s->detail[i])->occupancy_pct;

        if (!isnan(occupancy)) {
            m->occupancy_sum += (double)occupancy * (double)dur;
            m->occupancy_ns += (double)dur;
        }
    }
}

static int by_total(const void *left, const void *right)
{
    const hu_kernel *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

int hu_kernels_measure(const hu_trace *trace, const hu_intervals *scope, const hu_intervals *steps, hu_arena *arena,
                       hu_arena *scratch, hu_kernels *out, hu_error *err)
{
    const hu_slices s = hu_trace_slices(trace);
    HU_VEC(hu_kernel) list = {0};
    HU_VEC(moments) extra = {0};
    hu_kernels result = {0};
    hu_map     rows;

    if (!hu_map_init(&rows, scratch, 256))
        return hu_fail_memory(err);
    for (uint32_t i = 0; i < s.n; i++) {
        int64_t   launched;
        uint32_t *place;

        if (!hu_kind_in(s.kind[i], HU_KINDS_COMPUTE | HU_KINDS_COMM))
            continue;
        launched = hu_select_time(trace, &s, i);
        if (!hu_select_in(scope, launched))
            continue;
        place = hu_map_put(&rows, s.name[i]);
        if (!place)
            return hu_fail_memory(err);
        if (*place == HU_MAP_NONE) {
            *place = (uint32_t)list.n;
            if (!hu_vec_push(arena, &list, ((hu_kernel){.name = hu_trace_text(trace, s.name[i]),
                                                        .is_comm = s.kind[i] == HU_KIND_COLLECTIVE})) ||
                !hu_vec_push(scratch, &extra, (moments){0}))
                return hu_fail_memory(err);
        }
        add(trace, &s, i, &list.at[*place], &extra.at[*place]);
        list.at[*place].calls_in_steps += steps && hu_select_in(steps, launched);
        result.total_ns += s.dur_ns[i];
    }
    for (size_t i = 0; i < list.n; i++) {
        hu_kernel *k = &list.at[i];

        k->stddev_ns = k->calls > 1 ? sqrt(extra.at[i].squares / (double)(k->calls - 1)) : (double)NAN;
        k->occupancy_pct = extra.at[i].occupancy_ns > 0 ? extra.at[i].occupancy_sum / extra.at[i].occupancy_ns : (double)NAN;
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_total);
    result.at = list.at;
    result.n = list.n;
    *out = result;
    return 0;
}
