/* SPDX-License-Identifier: Apache-2.0
 * view.c - one view: its facts, its tables, and its series as lines. */
#include "render/text/text.h"

#include <math.h>

#include "base/units.h"

enum { FACT_WIDTH = 48 };

/* A long text moves to the left as far as its label lets it. */
static size_t label_width(const hu_text_page *p, const hu_column *c, const hu_cell *cell)
{
    const size_t text = hu_units_width(cell->text), least = hu_units_width(hu_str_of(c->head)) + 2;

    if (text + FACT_WIDTH + 2 <= p->r->width || least >= FACT_WIDTH)
        return FACT_WIDTH;
    return text + least + 2 >= p->r->width ? least : p->r->width - 2 - text;
}

static void write_facts(hu_text_page *p, const hu_view *v, const hu_rank *rank)
{
    for (size_t i = 0; i < v->n_facts; i++) {
        const hu_column *c = &v->facts[i];
        hu_cell          cell = {0};
        char             text[HU_UNIT_BYTES];

        if (!c->head)
            continue;
        c->get(rank, 0, &cell);
        if (c->type == HU_CELL_TEXT ? cell.text.n == 0 : isnan(cell.number))
            continue; /* not known */
        hu_out_text(p->out, "  ");
        hu_text_left(p, hu_str_of(c->head), c->type == HU_CELL_TEXT ? label_width(p, c, &cell) : FACT_WIDTH);
        if (c->type == HU_CELL_TEXT) {
            hu_units_clip(p->out, cell.text, p->r->width - label_width(p, c, &cell) - 2);
        } else {
            hu_text_cell(c->type, &cell, HU_UNIT_BYTES, text);
            hu_text_right(p, text, 12);
        }
        hu_out_text(p->out, "\n");
    }
}

/* A series as one line of blocks for each column, from 0 to the largest value. */
static void write_series(hu_text_page *p, const hu_table *t, const hu_rank *rank)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const size_t             n = t->rows(rank), cells = p->r->width > 70 ? 66 : 40;

    for (size_t k = 0; k < t->n_columns; k++) {
        const hu_column *c = &t->columns[k];
        double           most = 0, at[80] = {0};
        char             text[HU_UNIT_BYTES];

        if (!hu_text_shows(p, c, rank))
            continue;
        for (size_t i = 0; i < n; i++) {
            hu_cell cell = {0};

            c->get(rank, i, &cell);
            most = cell.number > most ? cell.number : most;
            at[i * cells / n] = cell.number > at[i * cells / n] ? cell.number : at[i * cells / n];
        }
        if (!(most > 0))
            continue; /* not recorded, or nothing happened */
        hu_text_cell(c->type, &(hu_cell){.number = most}, HU_UNIT_BYTES, text);
        hu_out_printf(p->out, "  %s, up to %s\n  │", c->head, text);
        hu_text_style(p, "36");
        for (size_t i = 0; n && i < cells; i++)
            hu_out_text(p->out, blocks[(size_t)ceil(8 * at[i] / most)]);
        hu_text_style(p, "0");
        hu_out_text(p->out, "│\n");
    }
}

/* Some series are for pictures alone. */
static bool has_words(const hu_table *t)
{
    for (size_t k = 0; k < t->n_columns; k++)
        if (t->columns[k].head)
            return true;
    return false;
}

static void write_one(hu_text_page *p, const hu_table *t, const hu_rank *rank, size_t most)
{
    const size_t n = t->is_series ? t->rows(rank) : 0;

    if (n && !has_words(t))
        hu_out_printf(p->out, "  %zu row%s, drawn on the page (--html); --csv lists %s\n", n, hu_plural((int64_t)n),
                      n == 1 ? "it" : "them");
    else if (n)
        write_series(p, t, rank);
    else
        hu_text_table(p, t, rank, most);
}

static bool has_rows(const hu_view *v, const hu_rank *rank)
{
    for (size_t i = 0; i < v->n_tables; i++)
        if (v->tables[i]->rows(rank))
            return true;
    return false;
}

void hu_text_view(hu_text_page *p, const hu_rank *rank)
{
    const hu_part *part = &p->r->part;
    const hu_view *v = part->view;
    bool           first = true;

    if (v->nothing && (v->has ? !v->has(rank) : !has_rows(v, rank))) {
        hu_text_paragraph(p, v->nothing, 2);
        return;
    }
    if (!part->table) {
        write_facts(p, v, rank);
        for (size_t i = 0; i < v->n_facts; i++)
            first &= !v->facts[i].head;
    }
    for (size_t i = 0; i < v->n_tables && !part->facts; i++) {
        const hu_table *t = v->tables[i];

        if (part->table ? part->table != t : v->n_tables > 1 && (t->rows(rank) == 0 || !has_words(t)))
            continue;
        if (!first)
            hu_out_text(p->out, "\n");
        if (!first || (v->n_tables > 1 && !part->table)) {
            hu_text_heading(p, t->title);
            hu_out_text(p->out, "\n");
        }
        first = false;
        write_one(p, t, rank, part->table || v->n_tables == 1 ? HU_TEXT_LONG : HU_TEXT_SHORT);
    }
}
