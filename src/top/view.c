/* SPDX-License-Identifier: Apache-2.0
 * view.c - rows in the order that the user wants. */
#include "top/view.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const hu_top_pages[HU_TOP_PAGES + 1] = {"overview", "gpus", "jobs", "ranks", "processes", NULL};

void hu_top_view_init(hu_top_view *v, int64_t interval_ns)
{
    struct passwd entry, *found = NULL;
    char          room[4096];

    memset(v, 0, sizeof *v);
    v->interval_ns = interval_ns;
    if (getpwuid_r(geteuid(), &entry, room, sizeof room, &found) == 0 && found)
        snprintf(v->me, sizeof v->me, "%s", found->pw_name);
    else
        snprintf(v->me, sizeof v->me, "%u", (unsigned)geteuid());
    for (int t = 0; t < HU_TOP_TABLES; t++)
        for (const hu_top_column *c = hu_top_tables[t].columns; c->key && hu_top_tables[t].sort; c++)
            if (strcmp(c->key, hu_top_tables[t].sort) == 0)
                v->order[t].sort = c;
}

void hu_top_view_free(hu_top_view *v)
{
    for (int t = 0; t < HU_TOP_TABLES; t++)
        free(v->order[t].rows);
    memset(v, 0, sizeof *v);
}

hu_top_table_id hu_top_view_table(const hu_top_view *v, const hu_top_model *m)
{
    switch (v->page) {
    case HU_TOP_PAGE_GPUS:
        return HU_TOP_GPUS;
    case HU_TOP_PAGE_JOBS:
        return HU_TOP_JOBS;
    case HU_TOP_PAGE_RANKS:
        return HU_TOP_RANKS;
    case HU_TOP_PAGE_PROCESSES:
        return HU_TOP_PROCESSES;
    case HU_TOP_OVERVIEW:
    case HU_TOP_PAGES:
        break;
    }
    return m->n_jobs ? HU_TOP_JOBS : m->n_gpus ? HU_TOP_GPUS : m->is_local ? HU_TOP_PROCESSES : HU_TOP_NODES;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

typedef struct {
    const void *row;
    double      number;
    char        text[HU_TOP_WORD];
    size_t      place; /* what is equal stays as it came */
} sortable;

/* Numbers from the largest, words from the first; what is not known comes last, whichever way. */
static int compare(const void *a, const void *b, void *context)
{
    const hu_top_order *o = context;
    const sortable     *x = a, *y = b;
    int                 c = 0;

    if (o->sort->number) {
        if (isnan(x->number) || isnan(y->number))
            c = isnan(x->number) - isnan(y->number);
        else
            c = (x->number < y->number) - (x->number > y->number);
        c = o->is_reversed && !isnan(x->number) && !isnan(y->number) ? -c : c;
    } else {
        c = strverscmp(x->text, y->text);
        c = o->is_reversed ? -c : c;
    }
    return c ? c : (x->place > y->place) - (x->place < y->place);
}

static bool sort_rows(hu_top_order *o)
{
    sortable *all;

    if (!o->sort || o->n < 2)
        return true;
    all = calloc(o->n, sizeof *all);
    if (!all)
        return false;
    for (size_t i = 0; i < o->n; i++) {
        char text[HU_TOP_CELL];

        all[i] = (sortable){.row = o->rows[i], .place = i};
        if (o->sort->number) {
            all[i].number = o->sort->number(o->rows[i]);
        } else {
            o->sort->text(o->rows[i], text);
            snprintf(all[i].text, sizeof all[i].text, "%.*s", HU_TOP_WORD - 1, text);
        }
    }
    qsort_r(all, o->n, sizeof *all, compare, o);
    for (size_t i = 0; i < o->n; i++)
        o->rows[i] = all[i].row;
    free(all);
    return true;
}

/* ---- filter ------------------------------------------------------------------------------------------------------ */

static bool passes(const hu_top_view *v, hu_top_table_id t, const void *row)
{
    char   text[HU_TOP_CELL], lower[HU_TOP_FILTER];
    size_t n = strlen(v->filter);

    if (t == HU_TOP_RANKS && v->job[0] && strcmp(((const hu_top_rank_row *)row)->job->id, v->job) != 0)
        return false;
    if (v->is_mine && t != HU_TOP_NODES && strcmp(hu_top_row_user(t, row), v->me) != 0)
        return false;
    if (n == 0 || t == HU_TOP_NODES)
        return true;
    for (size_t i = 0; i <= n; i++)
        lower[i] = hu_char_lower(v->filter[i]);
    for (const hu_top_column *c = hu_top_tables[t].columns; c->key; c++) {
        if (!c->is_left)
            continue; /* words alone: a digit would be in every second number */
        c->text(row, text);
        if (hu_str_has_lower(hu_str_of(text), (hu_str){lower, n}))
            return true;
    }
    return false;
}

static bool arrange(hu_top_view *v, const hu_top_model *m, hu_top_table_id t)
{
    const size_t  n = hu_top_rows_count(m, t);
    hu_top_order *o = &v->order[t];

    o->n = 0;
    if (n > o->room) {
        const void **more = realloc(o->rows, n * sizeof *more);

        if (!more)
            return false;
        o->rows = more;
        o->room = n;
    }
    for (size_t i = 0; i < n; i++) {
        const void *row = hu_top_row(m, t, i);

        if (passes(v, t, row))
            o->rows[o->n++] = row;
    }
    if (o->cursor >= o->n)
        o->cursor = o->n ? o->n - 1 : 0;
    return sort_rows(o);
}

bool hu_top_view_arrange(hu_top_view *v, const hu_top_model *m)
{
    bool ok = true;

    for (int t = 0; t < HU_TOP_TABLES; t++)
        ok &= arrange(v, m, (hu_top_table_id)t);
    return ok;
}

void hu_top_view_sort_by(hu_top_view *v, hu_top_table_id t, const hu_top_column *column)
{
    hu_top_order *o = &v->order[t];

    o->is_reversed = o->sort == column && !o->is_reversed;
    o->sort = column;
}

bool hu_top_view_sort(hu_top_view *v, const char *key)
{
    bool found = false;

    for (int t = 0; t < HU_TOP_TABLES; t++)
        for (const hu_top_column *c = hu_top_tables[t].columns; c->key; c++)
            if (strcmp(c->key, key) == 0) {
                v->order[t].sort = c;
                v->order[t].is_reversed = false;
                found = true;
            }
    return found;
}
