/* SPDX-License-Identifier: Apache-2.0
 * json_out.h - writes JSON with its commas in the right places; output is valid UTF-8 whatever the names hold. */
#ifndef HU_BASE_JSON_OUT_H
#define HU_BASE_JSON_OUT_H

#include "base/out.h"
#include "base/unread.h"

typedef struct {
    hu_out *out;
    int     depth;
    bool    is_empty; /* nothing written yet in this object or array */
    bool    is_line;  /* all of it in one line, for JSON Lines */
} hu_json_out;

/* A string in quotes, without the commas and blanks of what is around it. */
void hu_json_quote(hu_out *out, hu_str s);

/* `key` is NULL inside arrays and at the top. */
void hu_json_open(hu_json_out *j, const char *key, char bracket);
void hu_json_close(hu_json_out *j, char bracket);
void hu_json_str(hu_json_out *j, const char *key, hu_str value);
void hu_json_int(hu_json_out *j, const char *key, int64_t value);
void hu_json_fixed(hu_json_out *j, const char *key, double value, int decimals); /* NaN: null */
void hu_json_digits(hu_json_out *j, const char *key, const char *number);        /* a number as it was formatted */
void hu_json_ns(hu_json_out *j, const char *key, double value);                  /* rounded; NaN: null */
void hu_json_bool(hu_json_out *j, const char *key, bool value);
void hu_json_null(hu_json_out *j, const char *key);

/* An array of {file, error}. */
void hu_json_unread(hu_json_out *j, const char *key, const hu_unread_list *list);

#endif
