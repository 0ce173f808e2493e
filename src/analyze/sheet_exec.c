/* SPDX-License-Identifier: Apache-2.0
 * sheet_exec.c - kernels with the calls that launched them: in the call, in the queue, on the device.
 *
 * The time in the queue runs from the end of the call to the start of the kernel, and exists only where the kernel starts
 * later; the total runs from the start of the call to the end of whichever ends last. */
#include <stdlib.h>

#include "analyze/sheet_parts.h"

typedef struct {
    const hu_trace         *t;
    hu_slices               s;
    uint32_t                kernel, call;
    const hu_track         *device, *thread;
    const hu_kernel_detail *detail;                                /* NULL unknown */
    int64_t                 api_ns, queue_ns, kernel_ns, total_ns; /* queue_ns: at most 0 where there is none */
} launch;

static launch launch_of(const hu_sheet *sheet, const hu_sheet_slice *at)
{
    launch          l = {.t = sheet->traces[at->trace], .kernel = at->slice};
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(l.t, &n);
    int64_t         api_end, end;

    l.s = hu_trace_slices(l.t);
    l.call = hu_trace_launch_of(l.t, l.kernel);
    l.device = &tracks[l.s.track[l.kernel]];
    l.thread = &tracks[l.s.track[l.call]];
    l.detail = l.s.detail[l.kernel] == HU_NONE ? NULL : hu_trace_kernel_detail(l.t, l.s.detail[l.kernel]);
    l.api_ns = l.s.dur_ns[l.call];
    l.kernel_ns = l.s.dur_ns[l.kernel];
    api_end = l.s.start_ns[l.call] + l.api_ns;
    end = l.s.start_ns[l.kernel] + l.kernel_ns;
    l.queue_ns = l.s.start_ns[l.kernel] - api_end;
    l.total_ns = (end > api_end ? end : api_end) - l.s.start_ns[l.call];
    return l;
}

static bool has_launch(const hu_trace *t, const hu_slices *s, uint32_t slice)
{
    (void)s;
    return hu_trace_launch_of(t, slice) != HU_NONE;
}

static int by_call(const void *a, const void *b)
{
    const hu_sheet_slice *x = a, *y = b;

    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* By the start of the call. */
bool hu_sheet_launch_measure(hu_sheet *sheet)
{
    hu_sheet_slice *rows;

    if (!hu_sheet_slices(sheet, HU_KINDS_COMPUTE | HU_KINDS_COMM, has_launch))
        return false;
    rows = sheet->rows;
    for (size_t i = 0; i < sheet->n; i++) {
        const hu_trace *t = sheet->traces[rows[i].trace];

        rows[i].start_ns = hu_trace_slices(t).start_ns[hu_trace_launch_of(t, rows[i].slice)];
    }
    if (sheet->n)
        qsort(rows, sheet->n, sizeof *rows, by_call);
    return true;
}

static void fill_geometry(const launch *l, hu_cell *grid, hu_cell *block)
{
    const hu_kernel_detail *d = l->detail;

    if (!d)
        return;
    hu_cell_three(grid, d->grid[0], d->grid[1], d->grid[2]);
    hu_cell_three(block, d->block[0], d->block[1], d->block[2]);
}

void hu_sheet_launch_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const launch l = launch_of(sheet, &((const hu_sheet_slice *)sheet->rows)[row]);

    cells[0] = hu_cell_int(l.s.start_ns[l.call]);
    cells[1] = hu_cell_int(l.api_ns);
    if (l.queue_ns > 0) {
        cells[2] = hu_cell_int(l.s.start_ns[l.call] + l.api_ns);
        cells[3] = hu_cell_int(l.queue_ns);
    }
    cells[4] = hu_cell_int(l.s.start_ns[l.kernel]);
    cells[5] = hu_cell_int(l.kernel_ns);
    cells[6] = hu_cell_int(l.total_ns);
    cells[7] = hu_sheet_pid(l.t, l.thread);
    cells[8] = hu_sheet_tid(l.t, l.thread);
    cells[9] = hu_cell_unless(l.device->device, -1);
    cells[10] = hu_cell_text(hu_trace_text(l.t, l.s.name[l.call]));
    fill_geometry(&l, &cells[11], &cells[12]);
    cells[13] = hu_cell_text(hu_naming_kernel(sheet->naming, l.t, &l.s, l.kernel));
}

/* Kernels that a thread launched on a device by the same call, under one name. */
typedef struct {
    hu_sheet_slice first;
    HU_VEC(int64_t) times[4]; /* total, call, queue, kernel */
    hu_stats stats[4];
} group;

typedef HU_VEC(group) groups;

static int by_mean_total(const void *a, const void *b)
{
    const group *x = a, *y = b;

    if (x->stats[0].mean != y->stats[0].mean)
        return x->stats[0].mean > y->stats[0].mean ? -1 : 1;
    return by_call(&x->first, &y->first);
}

/* NULL: no memory. */
static group *group_of(hu_sheet *sheet, hu_sheet_groups *keys, groups *found, const hu_sheet_slice *at, const launch *l)
{
    const int64_t key[] = {at->trace, l->device->device, l->s.track[l->call],
                           hu_sheet_name(keys, hu_trace_text(l->t, l->s.name[l->call])),
                           hu_sheet_name(keys, hu_naming_kernel(sheet->naming, l->t, &l->s, l->kernel))};
    const int64_t row = key[3] < 0 || key[4] < 0 ? -1 : hu_sheet_row(keys, key, HU_COUNT(key));

    if (row < 0 || ((size_t)row == found->n && !hu_vec_push(sheet->arena, found, (group){.first = *at})))
        return NULL;
    return &found->at[row];
}

bool hu_sheet_launches_measure(hu_sheet *sheet)
{
    groups                found = {0};
    hu_sheet_groups       keys;
    const hu_sheet_slice *at;

    if (!hu_sheet_launch_measure(sheet) || !hu_sheet_groups_init(&keys, sheet->arena))
        return false;
    at = sheet->rows;
    for (size_t i = 0; i < sheet->n; i++) {
        const launch  l = launch_of(sheet, &at[i]);
        const int64_t times[4] = {l.total_ns, l.api_ns, l.queue_ns, l.kernel_ns};
        group        *g = group_of(sheet, &keys, &found, &at[i], &l);

        for (int k = 0; k < 4; k++)
            if (!g || ((k != 2 || times[k] > 0) && !hu_vec_push(sheet->arena, &g->times[k], times[k])))
                return false;
    }
    for (size_t i = 0; i < found.n; i++)
        for (int k = 0; k < 4; k++)
            found.at[i].stats[k] = hu_stats_of(found.at[i].times[k].at, found.at[i].times[k].n);
    if (found.n)
        qsort(found.at, found.n, sizeof *found.at, by_mean_total);
    sheet->rows = found.at;
    sheet->n = found.n;
    return true;
}

void hu_sheet_launches_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const group *g = &((const group *)sheet->rows)[row];
    const launch l = launch_of(sheet, &g->first);

    cells[0] = hu_sheet_pid(l.t, l.thread);
    cells[1] = hu_sheet_tid(l.t, l.thread);
    cells[2] = hu_cell_unless(l.device->device, -1);
    cells[3] = hu_cell_int((int64_t)g->stats[0].n);
    cells[4] = hu_cell_int((int64_t)g->stats[2].n);
    for (int k = 0; k < 4; k++)
        hu_sheet_stats(&g->stats[k], &cells[5 + 5 * k]);
    cells[25] = hu_cell_text(hu_trace_text(l.t, l.s.name[l.call]));
    cells[26] = hu_cell_text(hu_naming_kernel(sheet->naming, l.t, &l.s, l.kernel));
}

/* Kernels by name and geometry. */
typedef struct {
    hu_sheet_slice first;
    HU_VEC(int64_t) times;
    hu_stats stats;
    double   share_pct; /* of the listed total */
} shape;

static int by_total(const void *a, const void *b)
{
    const shape *x = a, *y = b;

    if (x->stats.sum != y->stats.sum)
        return x->stats.sum > y->stats.sum ? -1 : 1;
    return by_call(&x->first, &y->first);
}

static const hu_kernel_detail *detail_of(const hu_sheet *sheet, const hu_sheet_slice *at)
{
    static const hu_kernel_detail unknown;
    const hu_trace               *t = sheet->traces[at->trace];
    const uint32_t                row = hu_trace_slices(t).detail[at->slice];

    return row == HU_NONE ? &unknown : hu_trace_kernel_detail(t, row);
}

bool hu_sheet_geometry_measure(hu_sheet *sheet)
{
    HU_VEC(shape) found = {0};
    hu_sheet_groups       keys;
    const hu_sheet_slice *at;
    double                total = 0;

    if (!hu_sheet_slices(sheet, HU_KINDS_COMPUTE | HU_KINDS_COMM, NULL) || !hu_sheet_groups_init(&keys, sheet->arena))
        return false;
    at = sheet->rows;
    for (size_t i = 0; i < sheet->n; i++) {
        const hu_trace         *t = sheet->traces[at[i].trace];
        const hu_slices         s = hu_trace_slices(t);
        const hu_kernel_detail *d = detail_of(sheet, &at[i]);
        const int64_t           key[] = {hu_sheet_name(&keys, hu_naming_kernel(sheet->naming, t, &s, at[i].slice)),
                                         d->grid[0],
                                         d->grid[1],
                                         d->grid[2],
                                         d->block[0],
                                         d->block[1],
                                         d->block[2]};
        const int64_t           row = key[0] < 0 ? -1 : hu_sheet_row(&keys, key, HU_COUNT(key));

        if (row < 0 || ((size_t)row == found.n && !hu_vec_push(sheet->arena, &found, (shape){.first = at[i]})) ||
            !hu_vec_push(sheet->arena, &found.at[row].times, s.dur_ns[at[i].slice]))
            return false;
    }
    for (size_t i = 0; i < found.n; i++) {
        found.at[i].stats = hu_stats_of(found.at[i].times.at, found.at[i].times.n);
        total += (double)found.at[i].stats.sum;
    }
    for (size_t i = 0; i < found.n; i++)
        found.at[i].share_pct = total > 0 ? 100 * (double)found.at[i].stats.sum / total : 0;
    if (found.n)
        qsort(found.at, found.n, sizeof *found.at, by_total);
    sheet->rows = found.at;
    sheet->n = found.n;
    return true;
}

void hu_sheet_geometry_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const shape            *g = &((const shape *)sheet->rows)[row];
    const hu_kernel_detail *d = detail_of(sheet, &g->first);
    const hu_trace         *t = sheet->traces[g->first.trace];
    const hu_slices         s = hu_trace_slices(t);

    cells[0] = hu_cell_real(g->share_pct, 1);
    cells[1] = hu_cell_int(g->stats.sum);
    cells[2] = hu_cell_int((int64_t)g->stats.n);
    hu_sheet_stats(&g->stats, &cells[3]);
    hu_cell_three(&cells[8], d->grid[0], d->grid[1], d->grid[2]);
    hu_cell_three(&cells[9], d->block[0], d->block[1], d->block[2]);
    cells[10] = hu_cell_text(hu_naming_kernel(sheet->naming, t, &s, g->first.slice));
}
