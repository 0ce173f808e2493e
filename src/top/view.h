/* SPDX-License-Identifier: Apache-2.0
 * view.h - what the user wants to see: page, order, filter, cursor; and where the last page had what, for the mouse. */
#ifndef HU_TOP_VIEW_H
#define HU_TOP_VIEW_H

#include "top/columns.h"

typedef enum {
    HU_TOP_OVERVIEW,
    HU_TOP_PAGE_GPUS,
    HU_TOP_PAGE_JOBS,
    HU_TOP_PAGE_RANKS,
    HU_TOP_PAGE_PROCESSES,
    HU_TOP_PAGES
} hu_top_page;

extern const char *const hu_top_pages[HU_TOP_PAGES + 1]; /* their names; NULL ends them */

enum { HU_TOP_FILTER = 64, HU_TOP_HITS = 64 };

/* What a click at a place means. */
typedef struct {
    enum { HU_HIT_PAGE, HU_HIT_COLUMN, HU_HIT_ROW } what;
    int             y, x, width, height;
    hu_top_table_id table;
    size_t          number; /* of the page, the column or the first row */
} hu_top_hit;

/* Of one table. */
typedef struct {
    const hu_top_column *sort; /* NULL: as the rows come */
    bool                 is_reversed;
    size_t               cursor, top; /* rows */
    const void         **rows;        /* sorted and filtered */
    size_t               n, room;
} hu_top_order;

typedef struct {
    hu_top_page  page;
    hu_top_order order[HU_TOP_TABLES];
    char         filter[HU_TOP_FILTER];
    char         me[HU_TOP_WORD];  /* the user's name */
    char         job[HU_TOP_TEXT]; /* whose ranks alone are shown; "": all */
    bool         is_mine, is_paused, is_typing, has_help, has_plots, has_ended;
    int64_t      interval_ns;
    hu_top_hit   hit[HU_TOP_HITS];
    size_t       n_hits;
} hu_top_view;

void hu_top_view_init(hu_top_view *v, int64_t interval_ns);
void hu_top_view_free(hu_top_view *v);

/* The table that keys move in. */
hu_top_table_id hu_top_view_table(const hu_top_view *v, const hu_top_model *m);

/* Sorts and filters the rows of all tables.  False: no memory. */
bool hu_top_view_arrange(hu_top_view *v, const hu_top_model *m);

/* Sorts by a column of that key, in every table that has one.  False: there is none. */
bool hu_top_view_sort(hu_top_view *v, const char *key);

/* Clicking twice on the same heading turns the order round. */
void hu_top_view_sort_by(hu_top_view *v, hu_top_table_id t, const hu_top_column *column);

/* Keys beyond characters. */
enum {
    HU_KEY_UP = 0x110000,
    HU_KEY_DOWN,
    HU_KEY_PAGE_UP,
    HU_KEY_PAGE_DOWN,
    HU_KEY_HOME,
    HU_KEY_END,
    HU_KEY_BACK,
    HU_KEY_ENTER,
    HU_KEY_ESCAPE,
    HU_KEY_F1, /* and those behind it */
    HU_KEY_F10 = HU_KEY_F1 + 9,
};

void hu_top_view_key(hu_top_view *v, const hu_top_model *m, int key);

/* A click, or a turn of the wheel (-1 up, 1 down, 0: a click). */
void hu_top_view_mouse(hu_top_view *v, const hu_top_model *m, int y, int x, int wheel);

#endif
