/* SPDX-License-Identifier: Apache-2.0
 * draw_help.c - keys, and what the columns of the page mean. */
#include <stdio.h>

#include "top/draw.h"

enum { KEY_WIDTH = 16 };

static const struct {
    const char *keys, *words;
} keys[] = {
    {"1-5 F1-F5 Tab", "overview, GPUs, jobs, ranks, processes"},
    {"j k arrows", "move; PgUp PgDn Home End"},
    {"Enter", "ranks of the job; Esc goes back"},
    {"< >", "sort by the column before or behind; r turns the order round"},
    {"P M T", "sort by use, memory (jobs: holdup), time or temperature"},
    {"/", "show rows that have these letters; Esc ends it"},
    {"u", "show what is mine"},
    {"g", "plots of the last minutes"},
    {"space", "pause"},
    {"+ -", "look less, more often"},
    {"q", "quit"},
};

void hu_top_draw_help(hu_top_canvas *c, int y, const hu_top_view *v, const hu_top_model *m)
{
    const hu_top_table_id t = hu_top_view_table(v, m);
    char                  title[HU_TOP_WORD * 2];

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++, y++) {
        hu_top_put(c, y, 1, KEY_WIDTH, HU_TONE_BOLD, keys[i].keys);
        hu_top_put(c, y, 1 + KEY_WIDTH, c->width - 1 - KEY_WIDTH, HU_TONE_NORMAL, keys[i].words);
    }
    snprintf(title, sizeof title, "Columns: %s", hu_top_tables[t].title);
    hu_top_put(c, ++y, 1, c->width - 1, HU_TONE_DIM, title);
    for (const hu_top_column *column = hu_top_tables[t].columns; column->key; column++) {
        hu_top_put(c, ++y, 1, KEY_WIDTH, HU_TONE_BOLD, column->heading);
        hu_top_put(c, y, 1 + KEY_WIDTH, c->width - 1 - KEY_WIDTH, HU_TONE_NORMAL, column->help);
    }
}
