/* SPDX-License-Identifier: Apache-2.0
 * canvas.h - a page of characters with tones, which a terminal or a file then shows.
 *
 * Whatever is put there lands inside of it, and is a printable character of one column: names can neither steer a terminal
 * nor move a table.
 */
#ifndef HU_TOP_CANVAS_H
#define HU_TOP_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/out.h"

typedef enum {
    HU_TONE_NORMAL,
    HU_TONE_DIM,
    HU_TONE_BOLD,
    HU_TONE_HEAD, /* of a table */
    HU_TONE_SORT, /* the heading of the column that it is sorted by */
    HU_TONE_GOOD,
    HU_TONE_WARN,
    HU_TONE_BAD,
    HU_TONE_TAB, /* the page that is shown */
    HU_TONES
} hu_top_tone;

typedef struct {
    uint32_t code; /* Unicode */
    uint8_t  tone;
    bool     is_selected;
} hu_top_cell;

typedef struct {
    int          width, height;
    bool         has_utf8;
    hu_top_cell *cell; /* [y * width + x] */
    size_t       room;
} hu_top_canvas;

/* Blanks of that size; keeps its memory.  False: no memory, and the size is 0. */
bool hu_top_canvas_clear(hu_top_canvas *c, int width, int height);
void hu_top_canvas_free(hu_top_canvas *c);

/*
 * Puts text at a place, at most `width` columns of it; what was cut ends in "…".  Returns the columns that it took.
 * Places outside are fine: nothing is put there.
 */
int hu_top_put(hu_top_canvas *c, int y, int x, int width, hu_top_tone tone, const char *text);

/* The same, at the right end of `width` columns. */
void hu_top_put_right(hu_top_canvas *c, int y, int x, int width, hu_top_tone tone, const char *text);

/* Columns that a text takes. */
int hu_top_width(const char *text);

void hu_top_select_line(hu_top_canvas *c, int y);

/* A line as bytes for a terminal or file, UTF-8 or ASCII, without blanks at its end and without its newline. */
void hu_top_canvas_write(const hu_top_canvas *c, int y, hu_out *out);

/* What an ASCII terminal shows for a character. */
char hu_top_ascii(uint32_t code);

#endif
