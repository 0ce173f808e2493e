/* SPDX-License-Identifier: Apache-2.0
 * line_numbers.h - a number in a line of a log: behind which key it stands, and in which unit. */
#ifndef HU_INGEST_LINE_NUMBERS_H
#define HU_INGEST_LINE_NUMBERS_H

#include <ctype.h>
#include <stdbool.h>

#include "base/str.h"

/* Keys are in lower case, and stand as words of their own: "step_time" is none of "time". */

/* May it stand in a word? */
static inline bool hu_line_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Where a key stands from `from` on, and *end behind it.  False: nowhere. */
bool hu_line_find(hu_str line, size_t from, const char *key, size_t *end);

/* Where the characters of `what` end that stand at `at`. */
size_t hu_line_skip(hu_str line, size_t at, const char *what);

/* What stands behind a text in the line; empty where it is not there. */
hu_str hu_line_behind(hu_str line, const char *text);

/* Digits at `from`, with commas between thousands, a point and an exponent: the bytes that they take; 0: none. */
size_t hu_line_number_from(hu_str line, size_t from, double *out);

/* The same of what a text begins with, behind blanks. */
size_t hu_line_number_at(hu_str text, double *out);

/* The number behind a key, "key: 1,234.5", "key=3", and *end behind it; false: none. */
bool hu_line_number_behind(hu_str line, const char *key, double *out, size_t *end);
bool hu_line_number(hu_str line, const char *key, double *out);

/* The same, where quotes may be around key and number. */
bool hu_line_quoted(hu_str line, const char *key, double *out);

/* A count behind the first of some keys that is there, "3.5k"; the list ends with NULL.  NaN: there is none. */
double hu_line_count(hu_str line, const char *const *keys);

/* The same of a rate, which may also stand before its key: "171547 tok/s". */
double hu_line_rate(hu_str line, const char *const *keys);

/* The seconds of a unit, "ms", "seconds"; NaN: it is none. */
double hu_line_unit(hu_str word);

/*
 * A number that ends at `end` as seconds: by the unit behind it, or in `unit` seconds where there is none (*has_unit).  NaN:
 * what sticks to it makes it no time.
 */
double hu_line_seconds_at(hu_str line, double number, size_t end, double unit, bool *has_unit);

/* The same; *is_bare: there is no unit, and the number itself is returned. */
double hu_line_time(hu_str line, double number, size_t end, bool *is_bare);

#endif
