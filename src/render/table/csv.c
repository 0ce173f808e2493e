/* SPDX-License-Identifier: Apache-2.0
 * csv.c - one table as RFC 4180 writes it, numbers without units and without rounding to thousands. */
#include <math.h>

#include "base/number.h"
#include "base/csv_text.h"
#include "render/report.h"

static void write_cell(hu_out *out, const hu_column *c, const hu_rank *rank, size_t row)
{
    hu_cell cell = {0};

    c->get(rank, row, &cell);
    if (c->type == HU_CELL_TEXT)
        hu_csv_text(out, cell.text);
    else if (cell.is_whole)
        hu_out_i64(out, cell.whole);
    else if (isnan(cell.number))
        return; /* absent is empty, never 0 */
    else if (c->type == HU_CELL_NUMBER || c->type == HU_CELL_PERCENT)
        hu_out_fixed(out, cell.number, 4);
    else
        hu_out_i64(out, (int64_t)llround(cell.number));
}

/* "all" for what was merged. */
static void write_rank_number(hu_out *out, const hu_report *r, const hu_rank *rank, size_t index)
{
    if (rank == r->merged)
        hu_out_text(out, "all");
    else
        hu_out_i64(out, rank->digest->info.rank >= 0 ? rank->digest->info.rank : (int64_t)index);
}

static int write_rank(const hu_report *r, const hu_table *t, const hu_rank *rank, size_t index, hu_out *out, hu_error *err)
{
    const size_t    n = hu_report_rows(r, t, rank);
    const uint32_t *order = hu_columns_order(t, rank, n, r->sort, r->scratch);

    if (!order)
        return hu_fail_memory(err);
    for (size_t i = 0; i < n && (r->top == 0 || i < (size_t)r->top); i++) {
        const char *comma = "";

        if (!t->is_job) {
            write_rank_number(out, r, rank, index);
            comma = ",";
        }
        for (size_t k = 0; k < t->n_columns; k++) {
            if (!t->columns[k].key)
                continue;
            hu_out_text(out, comma);
            comma = ",";
            write_cell(out, &t->columns[k], rank, order[i]);
        }
        hu_out_text(out, "\r\n");
    }
    return 0;
}

static int write_table(const hu_report *report, const hu_table *t, hu_out *out, hu_error *err)
{
    const char *comma = t->is_job ? "" : "rank,"; /* where rows are ranks it is a column among others */
    int         rc = 0;

    for (size_t k = 0; k < t->n_columns; k++) {
        if (!t->columns[k].key)
            continue;
        hu_out_printf(out, "%s%s", comma, t->columns[k].key);
        comma = ",";
    }
    hu_out_text(out, "\r\n");
    if (t->is_job)
        return write_rank(report, t, report->job->ranks, 0, out, err);
    if (report->merged)
        return write_rank(report, t, report->merged, 0, out, err);
    for (size_t i = 0; rc == 0 && i < report->job->n; i++)
        rc = write_rank(report, t, &report->job->ranks[i], i, out, err);
    return rc;
}

static void write_facts(const hu_report *report, const hu_view *view, hu_out *out)
{
    hu_out_text(out, "rank,fact,value\r\n");
    for (size_t i = 0; i < (report->merged ? 1 : report->job->n); i++) {
        const hu_rank *rank = report->merged ? report->merged : &report->job->ranks[i];

        for (size_t k = 0; k < view->n_facts; k++) {
            if (!view->facts[k].key)
                continue;
            write_rank_number(out, report, rank, i);
            hu_out_printf(out, ",%s,", view->facts[k].key);
            write_cell(out, &view->facts[k], rank, 0);
            hu_out_text(out, "\r\n");
        }
    }
}

int hu_csv_write(const hu_report *report, hu_out *out, hu_error *err)
{
    const hu_view *view = report->part.view;

    if (!view) /* the overview of a spreadsheet is a row for each step */
        return write_table(report, &hu_table_steps, out, err);
    if (report->part.facts || view->n_tables == 0) {
        write_facts(report, view, out);
        return 0;
    }
    return write_table(report, report->part.table ? report->part.table : view->tables[0], out, err);
}
