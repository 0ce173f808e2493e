/* SPDX-License-Identifier: Apache-2.0
 * sheet_calls.c - one row for each call of CUDA or MPI, and for each piece of work of a GPU. */
#include <stdio.h>

#include "analyze/sheet_parts.h"
#include "analyze/sums.h"

/* The row's trace, its columns and its track. */
typedef struct {
    const hu_trace *t;
    hu_slices       s;
    uint32_t        i;
    const hu_track *track;
} place;

static place place_of(const hu_sheet *sheet, size_t row)
{
    const hu_sheet_slice *at = &((const hu_sheet_slice *)sheet->rows)[row];
    place                 p = {.t = sheet->traces[at->trace], .i = at->slice};
    size_t                n;

    p.s = hu_trace_slices(p.t);
    p.track = &hu_trace_tracks(p.t, &n)[p.s.track[p.i]];
    return p;
}

bool hu_sheet_api_measure(hu_sheet *sheet)
{
    return hu_sheet_slices(sheet, HU_KINDS_CALL, NULL);
}

void hu_sheet_api_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const place p = place_of(sheet, row);

    cells[0] = hu_cell_int(p.s.start_ns[p.i]);
    cells[1] = hu_cell_int(p.s.dur_ns[p.i]);
    cells[2] = hu_cell_text(hu_trace_text(p.t, p.s.name[p.i]));
    cells[3] = hu_cell_unless(p.s.correlation[p.i], 0);
    cells[4] = hu_sheet_pid(p.t, p.track);
    cells[5] = hu_sheet_tid(p.t, p.track);
    cells[6] = hu_cell_text(hu_trace_text(p.t, p.track->name));
}

bool hu_sheet_gpu_measure(hu_sheet *sheet)
{
    return hu_sheet_slices(sheet, HU_KINDS_DEVICE, NULL);
}

static void fill_kernel(const place *p, hu_cell *cells)
{
    const uint32_t          row = p->s.detail[p->i];
    const hu_kernel_detail *d = row == HU_NONE ? NULL : hu_trace_kernel_detail(p->t, row);

    if (!d)
        return;
    for (int i = 0; i < 3; i++) {
        cells[3 + i] = hu_cell_unless(d->grid[i], 0);
        cells[6 + i] = hu_cell_unless(d->block[i], 0);
    }
    cells[9] = hu_cell_unless(d->registers, 0);
    if (d->block[0])
        cells[10] = hu_cell_real((double)d->shared_bytes / 1e6, 3);
    cells[16] = hu_cell_unless(d->context, 0);
}

static void fill_copy(const place *p, hu_cell *cells)
{
    const uint32_t        row = p->s.detail[p->i];
    const hu_copy_detail *d = row == HU_NONE ? NULL : hu_trace_copy_detail(p->t, row);
    hu_str                from, to;

    hu_sheet_memory(hu_trace_text(p->t, p->s.name[p->i]), &from, &to);
    cells[13] = hu_cell_text(from);
    cells[14] = hu_cell_text(to);
    if (!d || d->bytes < 0)
        return;
    cells[11] = hu_cell_real((double)d->bytes / 1e6, 3);
    if (p->s.dur_ns[p->i] > 0)
        cells[12] = hu_cell_real((double)d->bytes * 1e3 / (double)p->s.dur_ns[p->i], 3);
}

/* "NVIDIA H100 (0)" */
static void fill_device(const place *p, hu_cell *cell)
{
    const hu_device *d = hu_trace_device(p->t, p->track->device);
    const hu_str     name = d ? hu_trace_text(p->t, d->name) : HU_STR("");

    if (p->track->device < 0)
        return;
    *cell = (hu_cell){.type = HU_CELL_TEXT};
    snprintf(cell->own, sizeof cell->own, "%.*s%s(%lld)", (int)(name.n < 24 ? name.n : 24), name.p ? name.p : "",
             name.n ? " " : "", (long long)p->track->device);
    cell->text = hu_str_of(cell->own);
}

void hu_sheet_gpu_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const place   p = place_of(sheet, row);
    const hu_kind kind = (hu_kind)p.s.kind[p.i];
    const hu_str  name = hu_trace_text(p.t, p.s.name[p.i]);

    cells[0] = hu_cell_int(p.s.start_ns[p.i]);
    cells[1] = hu_cell_int(p.s.dur_ns[p.i]);
    cells[2] = hu_cell_unless(p.s.correlation[p.i], 0);
    if (hu_kind_in(kind, HU_KINDS_COPY))
        fill_copy(&p, cells);
    else
        fill_kernel(&p, cells);
    fill_device(&p, &cells[15]);
    cells[17] = hu_cell_unless(p.track->stream, -1);
    cells[18] = hu_cell_text(hu_kind_in(kind, HU_KINDS_COPY) ? hu_sums_operation(name, kind)
                                                             : hu_naming_kernel(sheet->naming, p.t, &p.s, p.i));
}

bool hu_sheet_mpi_measure(hu_sheet *sheet)
{
    return hu_sheet_slices(sheet, HU_BIT(MPI), NULL);
}

void hu_sheet_mpi_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const place          p = place_of(sheet, row);
    const uint32_t       at = p.s.detail[p.i];
    const hu_mpi_detail *d = at == HU_NONE ? NULL : hu_trace_mpi_detail(p.t, at);

    cells[0] = hu_cell_int(p.s.start_ns[p.i]);
    cells[1] = hu_cell_int(p.s.start_ns[p.i] + p.s.dur_ns[p.i]);
    cells[2] = hu_cell_int(p.s.dur_ns[p.i]);
    cells[3] = hu_cell_text(hu_trace_text(p.t, p.s.name[p.i]));
    cells[4] = hu_sheet_pid(p.t, p.track);
    cells[5] = hu_sheet_tid(p.t, p.track);
    cells[7] = hu_cell_unless(hu_trace_get_info(p.t)->rank, -1);
    if (!d)
        return;
    cells[6] = hu_cell_unless(d->tag, INT32_MIN);
    cells[8] = hu_cell_unless(d->peer, -1);
    cells[9] = hu_cell_unless(d->root, -1);
    cells[10] = hu_cell_unless(d->bytes, -1);
}
