/* SPDX-License-Identifier: Apache-2.0
 * screen.h - a canvas on a terminal, keys and the mouse from it, by ncurses; the terminal is given back whatever happens. */
#ifndef HU_TOP_SCREEN_H
#define HU_TOP_SCREEN_H

#include "top/canvas.h"
#include "top/view.h"

/* False, with the reason in *err: this terminal cannot do it, and nothing was changed. */
bool hu_top_screen_open(bool has_color, hu_error *err);
void hu_top_screen_close(void);

void hu_top_screen_size(int *width, int *height);
void hu_top_screen_show(const hu_top_canvas *c);

/*
 * Waits for keys, `ms` at most, and hands them to the view; *has_changed: there were some, or the terminal has another size.
 * False: the terminal has gone.
 */
bool hu_top_screen_wait(hu_top_view *v, const hu_top_model *m, int ms, bool *has_changed);

#endif
