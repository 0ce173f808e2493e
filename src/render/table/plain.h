/* SPDX-License-Identifier: Apache-2.0
 * plain.h - columns in words for people: no member of JSON is named. */
#ifndef HU_RENDER_TABLE_PLAIN_H
#define HU_RENDER_TABLE_PLAIN_H

#include "render/table/views.h"

enum { HU_PLAIN_BYTES = 1024 };

typedef struct {
    char   t[HU_PLAIN_BYTES];
    size_t n;
} hu_plain;

/* The heading; where that is none, or no word, the key in words: "host wait %" for host_wait_pct. */
hu_str hu_plain_name(hu_plain *out, const hu_column *column);

/*
 * The help of a column of `table`, or of the view's facts where that is NULL: other columns by their names in quotes, its
 * own values by their words, and – for null.
 */
hu_str hu_plain_help(hu_plain *out, const hu_view *view, const hu_table *table, const hu_column *column);

/* What people read for a value of the column. */
hu_str hu_plain_value(const hu_column *column, hu_str value);

#endif
