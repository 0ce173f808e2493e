/* SPDX-License-Identifier: Apache-2.0
 * ncurses.h - ncurses: `holdup top`. */
#ifndef HU_BASE_LATE_NCURSES_H
#define HU_BASE_LATE_NCURSES_H

#define NCURSES_WIDECHAR 1 /* whatever the C library asks for */
#include <curses.h>

#include "base/late.h"

/* clang-format off */
#define HU_NCURSES_FUNCTIONS(F) \
    F(clearok) F(curs_set) F(delscreen) F(endwin) F(getmouse) F(has_colors) F(init_pair) F(keypad) \
    F(mouseinterval) F(mousemask) F(newterm) F(nodelay) F(noecho) F(nonl) F(raw) F(resizeterm) \
    F(set_escdelay) F(start_color) F(stdscr) F(tigetstr) F(use_default_colors) F(use_env) F(use_tioctl) \
    F(waddnstr) F(waddnwstr) F(wattrset) F(wget_wch) F(wmove) F(wrefresh)

HU_LATE_DECLARE(hu_ncurses, HU_NCURSES_FUNCTIONS)

#undef clearok
#undef curs_set
#undef delscreen
#undef endwin
#undef getmouse
#undef has_colors
#undef init_pair
#undef keypad
#undef mouseinterval
#undef mousemask
#undef newterm
#undef nodelay
#undef noecho
#undef nonl
#undef raw
#undef resizeterm
#undef set_escdelay
#undef start_color
#undef stdscr
#undef tigetstr
#undef use_default_colors
#undef use_env
#undef use_tioctl
#undef waddnstr
#undef waddnwstr
#undef wattrset
#undef wget_wch
#undef wmove
#undef wrefresh
#define clearok (*hu_ncurses.clearok)
#define curs_set (*hu_ncurses.curs_set)
#define delscreen (*hu_ncurses.delscreen)
#define endwin (*hu_ncurses.endwin)
#define getmouse (*hu_ncurses.getmouse)
#define has_colors (*hu_ncurses.has_colors)
#define init_pair (*hu_ncurses.init_pair)
#define keypad (*hu_ncurses.keypad)
#define mouseinterval (*hu_ncurses.mouseinterval)
#define mousemask (*hu_ncurses.mousemask)
#define newterm (*hu_ncurses.newterm)
#define nodelay (*hu_ncurses.nodelay)
#define noecho (*hu_ncurses.noecho)
#define nonl (*hu_ncurses.nonl)
#define raw (*hu_ncurses.raw)
#define resizeterm (*hu_ncurses.resizeterm)
#define set_escdelay (*hu_ncurses.set_escdelay)
#define start_color (*hu_ncurses.start_color)
#define stdscr (*hu_ncurses.stdscr)
#define tigetstr (*hu_ncurses.tigetstr)
#define use_default_colors (*hu_ncurses.use_default_colors)
#define use_env (*hu_ncurses.use_env)
#define use_tioctl (*hu_ncurses.use_tioctl)
#define waddnstr (*hu_ncurses.waddnstr)
#define waddnwstr (*hu_ncurses.waddnwstr)
#define wattrset (*hu_ncurses.wattrset)
#define wget_wch (*hu_ncurses.wget_wch)
#define wmove (*hu_ncurses.wmove)
#define wrefresh (*hu_ncurses.wrefresh)
/* clang-format on */

#endif
