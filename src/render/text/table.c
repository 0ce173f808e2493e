/* SPDX-License-Identifier: Apache-2.0
 * table.c - a table of columns, as wide as the terminal allows.
 *
 * Numbers are never cut: their columns are as wide as the widest of them, and counts get a unit where the names would be
 * left with too little.  Of what is left over, texts before the last column get what they need, the last one the rest.
 */
#include "render/text/text.h"

#include <math.h>

#include "base/number.h"
#include "base/short_name.h"
#include "base/units.h"

enum {
    MOST_COLUMNS = 48,
    LEAST_NAME_WIDTH = 10,
    NAME_ROOM = 33, /* of the last column, before counts of others are shortened for it */
};

void hu_text_cell(hu_cell_type type, const hu_cell *cell, size_t width, char *text)
{
    if (isnan(cell->number)) {
        memcpy(text, "–", sizeof "–");
        return;
    }
    switch (type) {
    case HU_CELL_NS:
        hu_units_time(text, cell->number);
        break;
    case HU_CELL_COUNT:
        if (hu_units_count(text, (int64_t)cell->number) > width)
            hu_units_short_count(text, cell->number);
        break;
    case HU_CELL_ID:
        hu_format_i64(text, (int64_t)cell->number);
        break;
    case HU_CELL_BYTES:
        hu_units_bytes(text, cell->number);
        break;
    case HU_CELL_PERCENT:
        hu_units_percent(text, cell->number / 100);
        break;
    default:
        hu_units_time(text, NAN);
        if (type == HU_CELL_NUMBER)
            hu_units_number(text, cell->number);
    }
}

bool hu_text_shows(const hu_text_page *p, const hu_column *c, const hu_rank *rank)
{
    return c->head && (!c->shown || c->shown(rank)) && (!c->is_wide || p->r->width >= HU_WIDE_TEXT);
}

/* The rows that are drawn, and how wide each column is; 0: it is not shown. */
typedef struct {
    const hu_table *t;
    const hu_rank  *rank;
    const uint32_t *order;
    size_t          n;
    size_t          width[MOST_COLUMNS];
    const hu_str   *names; /* of each row, in the last column; NULL: as its cell says */
} layout;

static hu_cell cell_of(const layout *l, const hu_column *c, size_t row)
{
    hu_cell cell = {0};

    c->get(l->rank, l->order[row], &cell);
    cell.indent = cell.indent < 40 ? cell.indent : 40;
    return cell;
}

/* What the widest cell of a column takes, counts of more than `most` characters with a unit. */
static size_t widest(const layout *l, const hu_column *c, size_t most)
{
    size_t width = 0;

    for (size_t i = 0; i < l->n; i++) {
        const hu_cell cell = cell_of(l, c, i);
        char          text[HU_UNIT_BYTES];
        size_t        wide;

        if (c->type == HU_CELL_TEXT) {
            wide = hu_units_width(cell.text) + (size_t)cell.indent;
        } else {
            hu_text_cell(c->type, &cell, most, text);
            wide = hu_units_width(hu_str_of(text));
        }
        width = wide > width ? wide : width;
    }
    return width;
}

static bool is_last(const hu_column *c)
{
    return c->type == HU_CELL_TEXT && c->width == 0;
}

/* Widths of all columns but the last; returns what they take with the gaps.  Whole counts where `is_whole`. */
static size_t measure(hu_text_page *p, layout *l, bool is_whole)
{
    size_t used = 2;

    for (size_t i = 0; i < l->t->n_columns; i++) {
        const hu_column *c = &l->t->columns[i];

        l->width[i] = 0;
        if (!hu_text_shows(p, c, l->rank) || is_last(c))
            continue;
        l->width[i] = (size_t)c->width;
        if (c->type != HU_CELL_TEXT) {
            const size_t wide = widest(l, c, is_whole ? HU_UNIT_BYTES : l->width[i]);

            l->width[i] = wide > l->width[i] ? wide : l->width[i];
        }
        used += l->width[i] + 1;
    }
    return used;
}

/* What the last column does not need goes to texts that are cut, the first one first. */
static void widen_texts(layout *l, size_t spare)
{
    for (size_t i = 0; i < l->t->n_columns && spare; i++) {
        const hu_column *c = &l->t->columns[i];
        size_t           wide;

        if (!l->width[i] || c->type != HU_CELL_TEXT)
            continue;
        wide = widest(l, c, 0);
        wide = wide > l->width[i] ? wide - l->width[i] : 0;
        wide = wide < spare ? wide : spare;
        l->width[i] += wide;
        spare -= wide;
    }
}

/* Names of functions that are cut stay apart; without memory they are cut each by itself. */
static void take_names(hu_text_page *p, layout *l, const hu_column *c, size_t width)
{
    hu_str *names = hu_arena_calloc(p->r->scratch, l->n + 1, sizeof *names);

    for (size_t i = 0; names && i < l->n; i++) {
        const hu_cell cell = cell_of(l, c, i);

        if (cell.is_plain || cell.indent)
            return;
        names[i] = cell.brief.n && hu_units_width(cell.text) > width ? cell.brief : cell.text;
    }
    if (names)
        l->names = hu_short_names(names, l->n, width, p->r->scratch);
}

static void lay_out(hu_text_page *p, layout *l)
{
    const hu_column *last = NULL;
    size_t           used, wide = 0, left;

    for (size_t i = 0; i < l->t->n_columns && i < MOST_COLUMNS; i++)
        if (is_last(&l->t->columns[i]) && hu_text_shows(p, &l->t->columns[i], l->rank))
            last = &l->t->columns[i];
    if (last) {
        const size_t head = hu_units_width(hu_str_of(last->head));

        wide = widest(l, last, 0);
        wide = wide > head ? wide : head;
    }
    used = measure(p, l, true);
    if (used + (wide < NAME_ROOM ? wide : NAME_ROOM) > p->r->width)
        used = measure(p, l, false);
    left = p->r->width > used + LEAST_NAME_WIDTH ? p->r->width - used : LEAST_NAME_WIDTH;
    if (left > wide)
        widen_texts(l, left - wide);
    if (!last)
        return;
    used = 2;
    for (size_t i = 0; i < l->t->n_columns; i++)
        used += l->width[i] ? l->width[i] + 1 : 0;
    left = p->r->width > used + LEAST_NAME_WIDTH ? p->r->width - used : LEAST_NAME_WIDTH;
    l->width[last - l->t->columns] = left;
    take_names(p, l, last, left);
}

static void table_head(hu_text_page *p, const layout *l)
{
    const char *gap = "  ";

    hu_text_style(p, "2");
    for (size_t i = 0; i < l->t->n_columns; i++) {
        const hu_column *c = &l->t->columns[i];

        if (!l->width[i])
            continue;
        hu_out_text(p->out, gap);
        gap = " ";
        if (is_last(c))
            hu_out_text(p->out, c->head);
        else if (c->type == HU_CELL_TEXT)
            hu_text_left(p, hu_str_of(c->head), l->width[i]);
        else
            hu_text_right(p, c->head, l->width[i]);
    }
    hu_text_style(p, "0");
    hu_out_text(p->out, "\n");
}

static void table_row(hu_text_page *p, const layout *l, size_t row)
{
    const char *gap = "  ";

    for (size_t i = 0; i < l->t->n_columns; i++) {
        const hu_column *c = &l->t->columns[i];
        hu_cell          cell;
        char             text[HU_UNIT_BYTES];

        if (!l->width[i])
            continue;
        hu_out_text(p->out, gap);
        gap = " ";
        cell = cell_of(l, c, row);
        if (c->type != HU_CELL_TEXT) {
            hu_text_cell(c->type, &cell, l->width[i], text);
            hu_text_right(p, text, l->width[i]);
            continue;
        }
        hu_text_spaces(p, (size_t)cell.indent);
        if (!is_last(c))
            hu_text_left(p, cell.text, l->width[i]);
        else if (l->names)
            hu_units_clip(p->out, l->names[row], l->width[i]);
        else
            (cell.is_plain ? hu_units_clip_file : hu_short_name_clip)(p->out, cell.text, l->width[i] - (size_t)cell.indent);
    }
    hu_out_text(p->out, "\n");
}

void hu_text_rows(hu_text_page *p, const hu_table *t, const hu_rank *rank, const uint32_t *order, size_t n)
{
    layout l = {t, rank, order, n, {0}, NULL};

    lay_out(p, &l);
    table_head(p, &l);
    for (size_t i = 0; i < n; i++)
        table_row(p, &l, i);
}

void hu_text_table(hu_text_page *p, const hu_table *t, const hu_rank *rank, size_t most)
{
    const hu_rank  *base = hu_report_base(p->r, t, rank);
    const size_t    n = hu_report_rows(p->r, t, rank), limit = p->r->top ? (size_t)p->r->top : most;
    const uint32_t *order = hu_columns_order(t, base, n, p->r->sort, p->r->scratch);

    if (n == 0 || !order) {
        hu_out_printf(p->out, "  %s\n", n ? "out of memory" : t->empty);
        return;
    }
    hu_text_rows(p, t, base, order, n < limit ? n : limit);
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
