/* SPDX-License-Identifier: Apache-2.0
 * draw.c - header, pages, tables and keys, each where there is room for it. */
#include "top/draw.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { LINE = 256, PLOT_HEIGHT = 6, PLOT_FROM_HEIGHT = 16, PLAIN_ROWS_MOST = 1 << 20 };

static const struct {
    const char *words;
} titles[HU_TOP_PAGES] = {{"1 Overview"}, {"2 GPUs"}, {"3 Jobs"}, {"4 Ranks"}, {"5 Processes"}};

static int draw_pages(hu_top_canvas *c, int y, hu_top_view *v)
{
    int x = 0;

    for (int i = 0; i < HU_TOP_PAGES; i++) {
        const int n = hu_top_put(c, y, x, c->width - x, (hu_top_page)i == v->page ? HU_TONE_TAB : HU_TONE_DIM,
                                 titles[i].words);

        if (v->n_hits < HU_TOP_HITS)
            v->hit[v->n_hits++] = (hu_top_hit){HU_HIT_PAGE, y, x, n, 1, HU_TOP_NODES, (size_t)i};
        x += n + 2;
    }
    return y + 1;
}

static void add_word(char *line, const char *word, const char *value)
{
    const size_t n = strlen(line);

    snprintf(line + n, LINE - n, "%s%s%s", n ? "  " : "", word, value);
}

/* The last line: what was chosen, else which keys there are. */
static void draw_footer(hu_top_canvas *c, const hu_top_view *v, const hu_top_model *m)
{
    const hu_top_order *o = &v->order[hu_top_view_table(v, m)];
    char                line[LINE] = "", number[HU_NUMBER_BYTES];
    const int           y = c->height - 1;
    int                 x;

    if (v->is_typing) {
        x = hu_top_put(c, y, 0, c->width, HU_TONE_BOLD, "Filter: ");
        x += hu_top_put(c, y, x, c->width - x, HU_TONE_NORMAL, v->filter);
        (void)hu_top_put(c, y, x, c->width - x, HU_TONE_BOLD, "_");
        return;
    }
    if (v->is_paused)
        add_word(line, "PAUSED", "");
    if (v->filter[0])
        add_word(line, "filter ", v->filter);
    if (v->job[0] && v->page == HU_TOP_PAGE_RANKS)
        add_word(line, "job ", v->job);
    if (v->is_mine)
        add_word(line, "user ", v->me);
    if (o->sort)
        add_word(line, o->is_reversed ? "reverse by " : "by ", o->sort->heading);
    hu_format_fixed(number, (double)v->interval_ns * 1e-9, v->interval_ns % INT64_C(1000000000) ? 1 : 0);
    strncat(number, " s", sizeof number - strlen(number) - 1);
    add_word(line, "every ", number);
    x = hu_top_put(c, y, 0, c->width, v->is_paused ? HU_TONE_WARN : HU_TONE_DIM, line) + 2;
    (void)hu_top_put(c, y, x, c->width - x, HU_TONE_DIM, "h help  / filter  <> sort  g plots  u mine  q quit");
}

static const hu_top_history *history_of(const hu_top_view *v, const hu_top_model *m, char title[LINE])
{
    const hu_top_order   *gpus = &v->order[HU_TOP_GPUS];
    const hu_top_gpu_row *row = gpus->cursor < gpus->n ? gpus->rows[gpus->cursor] : NULL;

    if (row && v->page != HU_TOP_PAGE_PROCESSES) {
        snprintf(title, LINE, isnan(row->gpu->sm_active) ? "GPU %s: utilization, %%" : "GPU %s: SMs active, %%",
                 row->gpu->gpu);
        return row->history;
    }
    snprintf(title, LINE, "CPU, %% of all processors");
    return &m->nodes[0].cpu;
}

static int draw_plots(hu_top_canvas *c, int y, const hu_top_view *v, const hu_top_model *m)
{
    char                  title[LINE];
    const hu_top_history *h = history_of(v, m, title);
    const int             half = c->width / 2;

    (void)hu_top_draw_plot(c, y, 0, PLOT_HEIGHT, half - 1, title, h);
    return hu_top_draw_plot(c, y, half, PLOT_HEIGHT, c->width - half, "memory of the node, %", &m->nodes[0].memory);
}

/* Lines that a table wants: heading and rows, or a sentence. */
static int wanted(const hu_top_view *v, hu_top_table_id t)
{
    const size_t n = v->order[t].n;

    return n == 0 ? 2 : n < PLAIN_ROWS_MOST ? (int)n + 1 : PLAIN_ROWS_MOST;
}

static int at_most(int lines, int most)
{
    return lines < most ? lines : most < 0 ? 0 : most;
}

/* Nodes, GPUs and jobs as they need it, and processes in what is left: a developer's own machine has little else. */
static void draw_overview(hu_top_canvas *c, int y, int end, hu_top_view *v, const hu_top_model *m)
{
    const hu_top_table_id focus = hu_top_view_table(v, m);
    const bool            has_ranks = m->n_ranks > 0;

    if (m->n_nodes > 1)
        y = hu_top_draw_table(c, y, at_most(wanted(v, HU_TOP_NODES), (end - y) / 3), v, m, HU_TOP_NODES,
                              focus == HU_TOP_NODES);
    if (m->n_gpus) {
        const int most = m->n_jobs || m->is_local ? (end - y) * 3 / 5 : end - y;

        y = hu_top_draw_table(c, y, at_most(wanted(v, HU_TOP_GPUS), most), v, m, HU_TOP_GPUS, focus == HU_TOP_GPUS);
    }
    if (m->n_jobs)
        y = hu_top_draw_table(c, y, at_most(wanted(v, HU_TOP_JOBS), has_ranks || m->is_local ? (end - y) / 2 + 1 : end - y),
                              v, m, HU_TOP_JOBS, focus == HU_TOP_JOBS);
    if (has_ranks && end - y > 2)
        y = hu_top_draw_table(c, y, at_most(wanted(v, HU_TOP_RANKS), m->is_local ? (end - y) / 2 + 1 : end - y), v, m,
                              HU_TOP_RANKS, false);
    if (m->is_local && end - y > 2)
        (void)hu_top_draw_table(c, y, end - y, v, m, HU_TOP_PROCESSES, focus == HU_TOP_PROCESSES);
}

void hu_top_draw(hu_top_canvas *c, hu_top_view *v, const hu_top_model *m)
{
    const int end = c->height - 1;
    int       y = hu_top_draw_header(c, 0, m);

    v->n_hits = 0;
    y = draw_pages(c, y, v);
    if (v->has_help) {
        hu_top_draw_help(c, y, v, m);
    } else {
        if (v->has_plots && c->height >= PLOT_FROM_HEIGHT)
            y = draw_plots(c, y, v, m);
        if (v->page == HU_TOP_OVERVIEW)
            draw_overview(c, y, end, v, m);
        else
            (void)hu_top_draw_table(c, y, end - y, v, m, hu_top_view_table(v, m), true);
    }
    for (int x = 0; x < c->width; x++) /* what came down as far as this goes for the keys */
        hu_top_put(c, end, x, 1, HU_TONE_NORMAL, " ");
    draw_footer(c, v, m);
}

int hu_top_draw_plain(hu_top_canvas *c, hu_top_view *v, const hu_top_model *m)
{
    int y = hu_top_draw_header(c, 0, m);

    v->n_hits = 0;
    for (int t = 0; t < HU_TOP_TABLES; t++) {
        const bool is_alone = v->page != HU_TOP_OVERVIEW;

        if (is_alone ? (hu_top_table_id)t != hu_top_view_table(v, m)
                     : v->order[t].n == 0 || (t == HU_TOP_NODES && m->n_nodes < 2))
            continue;
        y = hu_top_draw_table(c, y, wanted(v, (hu_top_table_id)t), v, m, (hu_top_table_id)t, false);
    }
    return y;
}
