/* SPDX-License-Identifier: Apache-2.0
 * units.h - numbers for people: three to four digits and a unit; and hostile names made printable. */
#ifndef HU_BASE_UNITS_H
#define HU_BASE_UNITS_H

#include <stdint.h>

#include "base/out.h"

enum { HU_UNIT_BYTES = 64 };

/* "118.4 ms", "35.2 µs", "840 ns", "1.23 s"; "–" for NaN.  Returns the length in bytes. */
size_t hu_units_time(char *out, double ns);
size_t hu_units_bytes(char *out, double bytes);       /* "1.5 MB", decimal */
size_t hu_units_count(char *out, int64_t value);      /* "1,234,567" */
size_t hu_units_short_count(char *out, double value); /* "1.2M" */
size_t hu_units_percent(char *out, double share);     /* of 0..1: "12.3" */
size_t hu_units_number(char *out, double value);      /* "0.25", "1234"; "<0.01" rather than a zero that is none */

/* Columns that a text takes on a terminal, one for each character. */
size_t hu_units_width(hu_str s);

/*
 * Writes at most `width` characters, with … for what was cut and U+FFFD for control characters and bytes that are no
 * UTF-8, so that a name can neither move the cursor nor break a table.  Returns how many were written.
 */
size_t hu_units_clip(hu_out *out, hu_str s, size_t width);

/* The same of a file's name: of "report.sqlite#pid=144" the process stays. */
size_t hu_units_clip_file(hu_out *out, hu_str s, size_t width);

/*
 * Writes words, clipped to `width`, and goes on in a new line at `indent` where one would pass `width`; the text begins in
 * `column`, and no newline ends it.
 */
void hu_units_wrap(hu_out *out, hu_str s, size_t column, size_t indent, size_t width);

/* The same with whole words: a path or a command that is longer than a line is there to be copied. */
void hu_units_wrap_whole(hu_out *out, hu_str s, size_t column, size_t indent, size_t width);

/* Wraps a text that begins in column `indent`, and ends its last line. */
void hu_units_paragraph(hu_out *out, const char *text, size_t indent, size_t width);

/* Writes a short text at the right of a column of `width`. */
void hu_units_right(hu_out *out, const char *text, size_t width);

#endif
