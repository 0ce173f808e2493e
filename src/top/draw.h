/* SPDX-License-Identifier: Apache-2.0
 * draw.h - the pages, from model and view onto a canvas. */
#ifndef HU_TOP_DRAW_H
#define HU_TOP_DRAW_H

#include "top/view.h"

/* A whole terminal of the canvas' size; notes in the view what is where.  Any size is fine, 1x1 too. */
void hu_top_draw(hu_top_canvas *c, hu_top_view *v, const hu_top_model *m);

/* The same without keys: header and tables from the first row on.  Returns the lines that it took. */
int hu_top_draw_plain(hu_top_canvas *c, hu_top_view *v, const hu_top_model *m);

/* ---- parts: each returns the line behind it ---------------------------------------------------------------------- */

int hu_top_draw_header(hu_top_canvas *c, int y, const hu_top_model *m);

/* A table of at most `height` lines, its heading included; `has_cursor`: keys move in it. */
int hu_top_draw_table(hu_top_canvas *c, int y, int height, hu_top_view *v, const hu_top_model *m, hu_top_table_id t,
                      bool has_cursor);

/* A plot of shares, 0 to 1; the last value on the right. */
int hu_top_draw_plot(hu_top_canvas *c, int y, int x, int height, int width, const char *title, const hu_top_history *h);

void hu_top_draw_help(hu_top_canvas *c, int y, const hu_top_view *v, const hu_top_model *m);

#endif
