/* SPDX-License-Identifier: Apache-2.0
 * keys.c - what keys and the mouse do to the view.  Letters are those of htop where it has them. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "top/view.h"

enum { PAGE_ROWS = 10, WHEEL_ROWS = 3, ESCAPE = 27, DELETE = 127, BACKSPACE = 8, CONTROL_C = 3 };

#define LEAST_INTERVAL_NS INT64_C(100000000)
#define MOST_INTERVAL_NS  INT64_C(60000000000)

static void move(hu_top_view *v, const hu_top_model *m, int by)
{
    hu_top_order *o = &v->order[hu_top_view_table(v, m)];

    if (by < 0)
        o->cursor = (size_t)-by > o->cursor ? 0 : o->cursor - (size_t)-by;
    else if (o->n)
        o->cursor = o->cursor + (size_t)by >= o->n ? o->n - 1 : o->cursor + (size_t)by;
}

/* The column before or behind the one that it is sorted by; before the first one: as rows come. */
static void next_column(hu_top_view *v, const hu_top_model *m, int by)
{
    const hu_top_table_id t = hu_top_view_table(v, m);
    const hu_top_column  *all = hu_top_tables[t].columns;
    hu_top_order         *o = &v->order[t];
    int                   n = 0, at;

    while (all[n].key)
        n++;
    at = o->sort ? (int)(o->sort - all) : -1;
    do {
        at = at + by < -1 ? n - 1 : at + by >= n ? -1 : at + by;
    } while (at >= 0 && !hu_top_column_is_shown(&all[at], m));
    o->sort = at < 0 ? NULL : &all[at];
    o->is_reversed = false;
}

static void sort_by_letter(hu_top_view *v, const hu_top_model *m, char letter)
{
    const hu_top_table_id t = hu_top_view_table(v, m);

    for (const hu_top_column *c = hu_top_tables[t].columns; c->key; c++)
        if (c->letter == letter)
            hu_top_view_sort_by(v, t, c);
}

static void open_job(hu_top_view *v, const hu_top_model *m)
{
    const hu_top_table_id t = hu_top_view_table(v, m);
    const hu_top_order   *o = &v->order[t];
    const void           *row = o->cursor < o->n ? o->rows[o->cursor] : NULL;
    const hu_top_job     *job = !row               ? NULL
                                : t == HU_TOP_JOBS ? ((const hu_top_job_row *)row)->job
                                : t == HU_TOP_GPUS ? ((const hu_top_gpu_row *)row)->job
                                                   : NULL;

    if (!job)
        return;
    snprintf(v->job, sizeof v->job, "%s", job->id);
    v->page = HU_TOP_PAGE_RANKS;
}

static void change_interval(hu_top_view *v, bool is_longer)
{
    v->interval_ns = is_longer ? v->interval_ns * 2 : v->interval_ns / 2;
    v->interval_ns = v->interval_ns < LEAST_INTERVAL_NS  ? LEAST_INTERVAL_NS
                     : v->interval_ns > MOST_INTERVAL_NS ? MOST_INTERVAL_NS
                                                         : v->interval_ns;
}

/* ---- the filter -------------------------------------------------------------------------------------------------- */

static void drop_character(char *text)
{
    size_t n = strlen(text);

    while (n && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
        n--;
    text[n ? n - 1 : 0] = '\0';
}

static void type(hu_top_view *v, int key)
{
    const size_t n = strlen(v->filter);
    char         bytes[4];
    size_t       length;

    if (key == HU_KEY_ENTER) {
        v->is_typing = false;
    } else if (key == HU_KEY_ESCAPE || key == CONTROL_C) {
        v->is_typing = false;
        v->filter[0] = '\0';
    } else if (key == HU_KEY_BACK) {
        drop_character(v->filter);
    } else if (key >= ' ' && key < HU_KEY_UP && key != DELETE) {
        length = hu_utf8_put(bytes, (uint32_t)key);
        if (n + length < sizeof v->filter) {
            memcpy(v->filter + n, bytes, length);
            v->filter[n + length] = '\0';
        }
    }
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static void escape(hu_top_view *v)
{
    if (v->has_help)
        v->has_help = false;
    else if (v->filter[0])
        v->filter[0] = '\0';
    else if (v->job[0])
        v->job[0] = '\0';
    else
        v->page = HU_TOP_OVERVIEW;
}

static void set_page(hu_top_view *v, int page)
{
    v->page = (hu_top_page)page;
    v->job[0] = '\0'; /* the ranks of one job are reached by Enter alone */
    v->has_help = false;
}

static void command(hu_top_view *v, const hu_top_model *m, int key)
{
    switch (key) {
    case 'q':
    case CONTROL_C:
    case HU_KEY_F10:
        v->has_ended = true;
        break;
    case 'h':
    case '?':
        v->has_help = !v->has_help;
        break;
    case ' ':
        v->is_paused = !v->is_paused;
        break;
    case '/':
        v->is_typing = true;
        break;
    case 'g':
        v->has_plots = !v->has_plots;
        break;
    case 'u':
        v->is_mine = !v->is_mine;
        break;
    case 'r':
    case 'I':
        v->order[hu_top_view_table(v, m)].is_reversed ^= true;
        break;
    case '<':
    case '>':
        next_column(v, m, key == '<' ? -1 : 1);
        break;
    case '+':
    case '-':
        change_interval(v, key == '+');
        break;
    case '\t':
        set_page(v, (int)((v->page + 1) % HU_TOP_PAGES));
        break;
    default:
        if (key >= 'A' && key <= 'Z')
            sort_by_letter(v, m, (char)key);
        break;
    }
}

void hu_top_view_key(hu_top_view *v, const hu_top_model *m, int key)
{
    if (key == '\r' || key == '\n')
        key = HU_KEY_ENTER;
    if (key == DELETE || key == BACKSPACE)
        key = HU_KEY_BACK;
    if (key == ESCAPE)
        key = HU_KEY_ESCAPE;
    if (v->is_typing) {
        type(v, key);
        return;
    }
    if (key >= HU_KEY_F1 && key < HU_KEY_F1 + HU_TOP_PAGES) {
        set_page(v, key - HU_KEY_F1);
        return;
    }
    if (key >= '1' && key < '1' + HU_TOP_PAGES) {
        set_page(v, key - '1');
        return;
    }
    switch (key) {
    case HU_KEY_UP:
    case 'k':
        move(v, m, -1);
        break;
    case HU_KEY_DOWN:
    case 'j':
        move(v, m, 1);
        break;
    case HU_KEY_PAGE_UP:
        move(v, m, -PAGE_ROWS);
        break;
    case HU_KEY_PAGE_DOWN:
        move(v, m, PAGE_ROWS);
        break;
    case HU_KEY_HOME:
        v->order[hu_top_view_table(v, m)].cursor = 0;
        break;
    case HU_KEY_END:
        move(v, m, HU_TOP_PROCESSES_MOST);
        break;
    case HU_KEY_ENTER:
        open_job(v, m);
        break;
    case HU_KEY_ESCAPE:
        escape(v);
        break;
    default:
        command(v, m, key);
        break;
    }
}

void hu_top_view_mouse(hu_top_view *v, const hu_top_model *m, int y, int x, int wheel)
{
    if (wheel) {
        move(v, m, wheel * WHEEL_ROWS);
        return;
    }
    for (size_t i = 0; i < v->n_hits; i++) {
        const hu_top_hit *h = &v->hit[i];

        if (y < h->y || y >= h->y + h->height || x < h->x || x >= h->x + h->width)
            continue;
        if (h->what == HU_HIT_PAGE)
            set_page(v, (int)h->number);
        else if (h->what == HU_HIT_COLUMN)
            hu_top_view_sort_by(v, h->table, &hu_top_tables[h->table].columns[h->number]);
        else if (h->number + (size_t)(y - h->y) < v->order[h->table].n)
            v->order[h->table].cursor = h->number + (size_t)(y - h->y);
        return;
    }
}
