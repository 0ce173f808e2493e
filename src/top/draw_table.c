/* SPDX-License-Identifier: Apache-2.0
 * draw_table.c - columns that fit, rows from the first that is shown, and the cursor. */
#include <stdio.h>
#include <string.h>

#include "top/draw.h"

enum { COLUMNS_MOST = 32, GAP = 1, STRETCH_LEAST = 4 };

typedef struct {
    const hu_top_column *column;
    int                  x, width;
} placed;

/* Columns up to the highest rank at which all of them fit; the last one takes what is over. */
static int place(const hu_top_table *t, const hu_top_model *m, int width, placed *out)
{
    int n = 0, x = 0, most = 9;

    for (;; most--) {
        int needed = -GAP;

        for (const hu_top_column *c = t->columns; c->key; c++)
            if (c->rank <= most && hu_top_column_is_shown(c, m))
                needed += c->width + GAP;
        if (needed <= width || most == 0)
            break;
    }
    for (const hu_top_column *c = t->columns; c->key && n < COLUMNS_MOST; c++) {
        if (c->rank > most || !hu_top_column_is_shown(c, m) || x >= width)
            continue;
        out[n++] = (placed){c, x, c->width};
        x += c->width + GAP;
    }
    if (n && (out[n - 1].column->is_left || out[n - 1].x + out[n - 1].width > width))
        out[n - 1].width = width - out[n - 1].x;
    return n;
}

static void add_hit(hu_top_view *v, hu_top_hit hit)
{
    if (v->n_hits < HU_TOP_HITS)
        v->hit[v->n_hits++] = hit;
}

static void draw_cell(hu_top_canvas *c, int y, const placed *p, hu_top_tone tone, const char *text)
{
    if (p->column->is_left)
        hu_top_put(c, y, p->x, p->width, tone, text);
    else
        hu_top_put_right(c, y, p->x, p->width, tone, text);
}

static void draw_heading(hu_top_canvas *c, int y, hu_top_view *v, hu_top_table_id t, const placed *p, int n)
{
    for (int x = 0; x < c->width; x++)
        hu_top_put(c, y, x, 1, HU_TONE_HEAD, " ");
    for (int i = 0; i < n; i++) {
        const bool is_sort = v->order[t].sort == p[i].column;

        draw_cell(c, y, &p[i], is_sort ? HU_TONE_SORT : HU_TONE_HEAD, p[i].column->heading);
        add_hit(v, (hu_top_hit){HU_HIT_COLUMN, y, p[i].x, p[i].width + GAP, 1, t,
                                (size_t)(p[i].column - hu_top_tables[t].columns)});
    }
}

/* Why there is no row: what cannot be looked at is not known, and none of it may be said not to be there. */
static void say_nothing(const hu_top_model *m, hu_top_table_id t, char out[HU_TOP_CELL])
{
    if (hu_top_rows_count(m, t)) {
        snprintf(out, HU_TOP_CELL, "no row passes the filter");
        return;
    }
    snprintf(out, HU_TOP_CELL, "%s", hu_top_tables[t].nothing);
    for (size_t i = 0; i < m->n_nodes && t == HU_TOP_RANKS; i++)
        for (size_t k = 0; m->nodes[i].look && k < m->nodes[i].look->n_problems; k++) {
            const hu_top_problem *p = &m->nodes[i].look->problem[k];

            if (strcmp(p->source, "live") == 0)
                snprintf(out, HU_TOP_CELL, "not known: %.140s; %.140s", p->what, p->fix);
        }
}

int hu_top_draw_table(hu_top_canvas *c, int y, int height, hu_top_view *v, const hu_top_model *m, hu_top_table_id t,
                      bool has_cursor)
{
    hu_top_order *o = &v->order[t];
    placed        p[COLUMNS_MOST];
    const int     n = place(&hu_top_tables[t], m, c->width, p);
    const size_t  room = height > 1 ? (size_t)height - 1 : 0;
    char          text[HU_TOP_CELL];
    size_t        shown;

    if (height < 1)
        return y;
    draw_heading(c, y, v, t, p, n);
    if (o->n == 0) {
        say_nothing(m, t, text);
        if (room)
            hu_top_put(c, y + 1, 0, c->width, HU_TONE_DIM, text);
        return y + (room ? 2 : 1);
    }
    if (o->cursor < o->top)
        o->top = o->cursor;
    if (room && o->cursor >= o->top + room)
        o->top = o->cursor - room + 1;
    if (o->top && o->n - o->top < room) /* no empty lines at the end while there are rows above */
        o->top = o->n > room ? o->n - room : 0;
    shown = o->n - o->top < room ? o->n - o->top : room;
    for (size_t i = 0; i < shown; i++) {
        const void *row = o->rows[o->top + i];
        const int   at = y + 1 + (int)i;

        for (int k = 0; k < n; k++) {
            p[k].column->text(row, text);
            draw_cell(c, at, &p[k], p[k].column->tone ? p[k].column->tone(row) : HU_TONE_NORMAL, text);
        }
        if (has_cursor && o->top + i == o->cursor)
            hu_top_select_line(c, at);
    }
    add_hit(v, (hu_top_hit){HU_HIT_ROW, y + 1, 0, c->width, (int)shown, t, o->top});
    return y + 1 + (int)shown;
}
