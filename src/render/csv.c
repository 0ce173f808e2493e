/* SPDX-License-Identifier: Apache-2.0
 * csv.c - one table as RFC 4180 writes it, numbers without units and without rounding to thousands. */
#include <math.h>

#include "base/number.h"
#include "render/report.h"

static void write_text(hu_out *out, hu_str s)
{
    bool quote = false;

    for (size_t i = 0; i < s.n; i++)
        quote |= s.p[i] == ',' || s.p[i] == '"' || s.p[i] == '\n' || s.p[i] == '\r';
    if (!quote) {
        hu_out_str(out, s);
        return;
    }
    hu_out_text(out, "\"");
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            hu_out_text(out, "\"");
        hu_out_write(out, s.p + i, 1);
    }
    hu_out_text(out, "\"");
}

static void write_cell(hu_out *out, const hu_column *c, const hu_digest *d, size_t row)
{
    hu_cell cell = {0};

    c->get(d, row, &cell);
    if (c->type == HU_CELL_TEXT)
        write_text(out, cell.text);
    else if (cell.is_whole)
        hu_out_i64(out, cell.whole);
    else if (isnan(cell.number))
        return;             /* absent is empty, never 0 */
    else if (c->type == HU_CELL_NUMBER || c->type == HU_CELL_PERCENT)
        hu_out_fixed(out, cell.number, 4);
    else
        hu_out_i64(out, (int64_t)llround(cell.number));
}

static int write_rank(const hu_report *r, const hu_table *t, const hu_digest *d, size_t index, hu_out *out, hu_error *err)
{
    const size_t     n = t->rows(d);
    const uint32_t  *order = hu_columns_order(t, d, r->sort, r->scratch);

    if (!order)
        return hu_fail_memory(err);
    for (size_t i = 0; i < n && (r->top == 0 || i < (size_t)r->top); i++) {
        hu_out_i64(out, d->info.rank >= 0 ? d->info.rank : (int64_t)index);
        for (size_t k = 0; k < t->n_columns; k++) {
            hu_out_text(out, ",");
            write_cell(out, &t->columns[k], d, order[i]);
        }
        hu_out_text(out, "\r\n");
    }
    return 0;
}

int hu_csv_write(const hu_report *report, hu_out *out, hu_error *err)
{
    const hu_table *t = hu_report_table(report->view);
    int             rc = 0;

    if (!t)
        t = &hu_table_steps;        /* the overview of a spreadsheet is a row for each step */
    hu_out_text(out, "rank");
    for (size_t k = 0; k < t->n_columns; k++)
        hu_out_printf(out, ",%s", t->columns[k].key);
    hu_out_text(out, "\r\n");
    for (size_t i = 0; rc == 0 && i < report->n; i++)
        rc = write_rank(report, t, report->digests[i], i, out, err);
    return rc;
}
