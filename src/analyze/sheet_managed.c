/* SPDX-License-Identifier: Apache-2.0
 * sheet_managed.c - managed (unified) memory: which addresses moved and faulted, in all, and which code faulted. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/sheet_parts.h"

/* Of an address, of an instruction, or of all. */
typedef struct {
    uint64_t address, last; /* last: of all */
    hu_str   name;
    int64_t  amount[HU_MANAGED_KINDS]; /* faults, or bytes; -1 none */
    int64_t  moving_ns;
} sum;

static double throughput(const sum *s)
{
    const int64_t up = s->amount[HU_MANAGED_TO_DEVICE], down = s->amount[HU_MANAGED_TO_HOST];

    return s->moving_ns > 0 ? (double)((up > 0 ? up : 0) + (down > 0 ? down : 0)) * 1e9 / (double)s->moving_ns : -1;
}

static int by_throughput(const void *a, const void *b)
{
    const sum   *x = a, *y = b;
    const double tx = throughput(x), ty = throughput(y);

    if (tx < ty || tx > ty)
        return tx > ty ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

static int by_faults(const void *a, const void *b)
{
    const sum    *x = a, *y = b;
    const int64_t fx = x->amount[HU_MANAGED_HOST_FAULT], fy = y->amount[HU_MANAGED_HOST_FAULT];

    return fx != fy ? (fx > fy ? -1 : 1) : hu_str_compare(x->name, y->name);
}

static void add(sum *s, const hu_managed_event *e)
{
    int64_t *amount = &s->amount[e->kind];

    *amount = (*amount < 0 ? 0 : *amount) + e->amount;
    s->moving_ns += e->dur_ns;
    s->address = e->address < s->address ? e->address : s->address;
    s->last = e->address > s->last ? e->address : s->last;
}

/* Sums by a number of each event, which is negative for those that do not count.  False: no memory. */
static bool collect(hu_sheet *sheet, int64_t (*key)(hu_sheet_groups *groups, hu_str name, const hu_managed_event *e))
{
    HU_VEC(sum) sums = {0};
    hu_sheet_groups groups;

    if (!hu_sheet_groups_init(&groups, sheet->arena))
        return false;
    for (size_t t = 0; t < sheet->n_traces; t++) {
        size_t                  n;
        const hu_managed_event *events = hu_trace_managed(sheet->traces[t], &n);

        for (size_t i = 0; i < n; i++) {
            const hu_str  name = hu_trace_text(sheet->traces[t], events[i].name);
            const int64_t of = key(&groups, name, &events[i]), row = of < 0 ? of : hu_sheet_row(&groups, &of, 1);
            const sum     empty = {.address = UINT64_MAX, .name = name, .amount = {-1, -1, -1, -1}};

            if (row == -2)
                continue;
            if (row < 0 || ((size_t)row == sums.n && !hu_vec_push(sheet->arena, &sums, empty)))
                return false;
            add(&sums.at[row], &events[i]);
        }
    }
    sheet->rows = sums.at;
    sheet->n = sums.n;
    return true;
}

static int64_t by_address(hu_sheet_groups *groups, hu_str name, const hu_managed_event *e)
{
    (void)groups;
    (void)name;
    return (int64_t)(e->address & INT64_MAX);
}

static int64_t by_name(hu_sheet_groups *groups, hu_str name, const hu_managed_event *e)
{
    return e->kind == HU_MANAGED_HOST_FAULT ? hu_sheet_name(groups, name) : -2;
}

static int64_t by_nothing(hu_sheet_groups *groups, hu_str name, const hu_managed_event *e)
{
    (void)groups;
    (void)name;
    (void)e;
    return 0;
}

bool hu_sheet_managed_measure(hu_sheet *sheet)
{
    if (!collect(sheet, by_address))
        return false;
    if (sheet->n)
        qsort(sheet->rows, sheet->n, sizeof(sum), by_throughput);
    sheet->n = sheet->most && sheet->n > sheet->most ? sheet->most : sheet->n;
    return true;
}

bool hu_sheet_managed_total_measure(hu_sheet *sheet)
{
    return collect(sheet, by_nothing);
}

bool hu_sheet_faults_measure(hu_sheet *sheet)
{
    if (!collect(sheet, by_name))
        return false;
    if (sheet->n)
        qsort(sheet->rows, sheet->n, sizeof(sum), by_faults);
    return true;
}

static void fill_address(hu_cell *cell, uint64_t address)
{
    *cell = (hu_cell){.type = HU_CELL_TEXT};
    snprintf(cell->own, sizeof cell->own, "0x%llX", (unsigned long long)address);
    cell->text = hu_str_of(cell->own);
}

static hu_cell megabytes(int64_t bytes)
{
    return bytes < 0 ? (hu_cell){0} : hu_cell_real((double)bytes / 1e6, 3);
}

void hu_sheet_managed_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const sum *s = &((const sum *)sheet->rows)[row];

    fill_address(&cells[0], s->address);
    cells[1] = megabytes(s->amount[HU_MANAGED_TO_DEVICE]);
    cells[2] = megabytes(s->amount[HU_MANAGED_TO_HOST]);
    cells[3] = hu_cell_unless(s->amount[HU_MANAGED_HOST_FAULT], -1);
    cells[4] = hu_cell_unless(s->amount[HU_MANAGED_DEVICE_FAULT], -1);
    if (throughput(s) >= 0)
        cells[5] = hu_cell_real(throughput(s) / 1e6, 3);
}

void hu_sheet_managed_total_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const sum *s = &((const sum *)sheet->rows)[row];

    cells[0] = megabytes(s->amount[HU_MANAGED_TO_DEVICE]);
    cells[1] = megabytes(s->amount[HU_MANAGED_TO_HOST]);
    cells[2] = hu_cell_int(s->amount[HU_MANAGED_HOST_FAULT] < 0 ? 0 : s->amount[HU_MANAGED_HOST_FAULT]);
    cells[3] = hu_cell_unless(s->amount[HU_MANAGED_DEVICE_FAULT], -1);
    fill_address(&cells[4], s->address);
    fill_address(&cells[5], s->last);
}

void hu_sheet_faults_fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const sum *s = &((const sum *)sheet->rows)[row];

    cells[0] = hu_cell_int(s->amount[HU_MANAGED_HOST_FAULT]);
    cells[1] = hu_cell_text(s->name);
}
