/* SPDX-License-Identifier: Apache-2.0
 * table.c - a table of columns, as wide as the terminal allows. */
#include "render/text/text.h"

#include <math.h>

#include "base/number.h"
#include "base/units.h"

enum { LEAST_NAME_WIDTH = 10 };

void hu_text_cell(const hu_column *c, const hu_cell *cell, char *text)
{
    if (isnan(cell->number)) {
        memcpy(text, "–", sizeof "–");
        return;
    }
    switch (c->type) {
    case HU_CELL_NS:
        hu_units_time(text, cell->number);
        break;
    case HU_CELL_COUNT:
        if (hu_units_count(text, (int64_t)cell->number) > (size_t)c->width)
            hu_units_short_count(text, cell->number);
        break;
    case HU_CELL_BYTES:
        hu_units_bytes(text, cell->number);
        break;
    case HU_CELL_PERCENT:
        hu_units_percent(text, cell->number / 100);
        break;
    default:
        hu_units_time(text, NAN);
        if (c->type == HU_CELL_NUMBER)
            hu_units_number(text, cell->number);
    }
}

bool hu_text_shows(const hu_text_page *p, const hu_column *c, const hu_rank *rank)
{
    return c->head && (!c->shown || c->shown(rank)) && (!c->is_wide || p->r->width >= HU_WIDE_TEXT);
}

static size_t column_width(hu_text_page *p, const hu_table *t, const hu_rank *rank, const hu_column *c)
{
    size_t used = 2;

    if (c->width)
        return (size_t)c->width;
    for (size_t i = 0; i < t->n_columns; i++)
        if (&t->columns[i] != c && hu_text_shows(p, &t->columns[i], rank))
            used += (size_t)t->columns[i].width + 1;
    return p->r->width > used + LEAST_NAME_WIDTH ? p->r->width - used : LEAST_NAME_WIDTH;
}

static void table_head(hu_text_page *p, const hu_table *t, const hu_rank *rank)
{
    const char *gap = "  ";

    hu_text_style(p, "2");
    for (size_t i = 0; i < t->n_columns; i++) {
        const hu_column *c = &t->columns[i];

        if (!hu_text_shows(p, c, rank))
            continue;
        hu_out_text(p->out, gap);
        gap = " ";
        if (c->type == HU_CELL_TEXT && c->width == 0)
            hu_out_text(p->out, c->head);
        else if (c->type == HU_CELL_TEXT)
            hu_text_left(p, hu_str_of(c->head), (size_t)c->width);
        else
            hu_text_right(p, c->head, (size_t)c->width);
    }
    hu_text_style(p, "0");
    hu_out_text(p->out, "\n");
}

static void table_row(hu_text_page *p, const hu_table *t, const hu_rank *rank, size_t row)
{
    const char *gap = "  ";

    for (size_t i = 0; i < t->n_columns; i++) {
        const hu_column *c = &t->columns[i];
        hu_cell          cell = {0};
        char             text[HU_UNIT_BYTES];

        if (!hu_text_shows(p, c, rank))
            continue;
        hu_out_text(p->out, gap);
        gap = " ";
        c->get(rank, row, &cell);
        if (c->type == HU_CELL_TEXT) {
            const size_t indent = cell.indent < 40 ? (size_t)cell.indent : 40;

            hu_text_spaces(p, indent);
            if (c->width)
                hu_text_left(p, cell.text, (size_t)c->width);
            else
                (cell.is_plain ? hu_units_clip : hu_units_clip_name)(p->out, cell.text,
                                                                     column_width(p, t, rank, c) - indent);
        } else {
            hu_text_cell(c, &cell, text);
            hu_text_right(p, text, (size_t)c->width);
        }
    }
    hu_out_text(p->out, "\n");
}

void hu_text_table(hu_text_page *p, const hu_table *t, const hu_rank *rank, size_t most)
{
    const size_t    n = t->rows(rank), limit = p->r->top ? (size_t)p->r->top : most;
    const uint32_t *order = hu_columns_order(t, rank, p->r->sort, p->r->scratch);

    if (n == 0 || !order) {
        hu_out_printf(p->out, "  %s\n", n ? "out of memory" : t->empty);
        return;
    }
    table_head(p, t, rank);
    for (size_t i = 0; i < n && i < limit; i++)
        table_row(p, t, rank, order[i]);
    if (n > limit) {
        hu_text_style(p, "2");
        hu_out_printf(p->out, "  … %zu more (--top %zu shows all)\n", n - limit, n);
        hu_text_style(p, "0");
    }
}

void hu_text_titled_table(hu_text_page *p, const char *title, const hu_table *t, const hu_rank *rank, size_t most)
{
    hu_text_heading(p, title);
    hu_out_text(p->out, "\n");
    hu_text_table(p, t, rank, most);
}
