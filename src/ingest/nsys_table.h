/* SPDX-License-Identifier: Apache-2.0
 * nsys_table.h - one table of sums in any of the forms and with any of the headings that nsys has had since 2019. */
#ifndef HU_INGEST_NSYS_TABLE_H
#define HU_INGEST_NSYS_TABLE_H

#include "trace/nsys_sums.h"

typedef enum {
    HU_NSYS_COLUMNS, /* padded with spaces, a line of dashes below the headings */
    HU_NSYS_BARS,    /* cells between bars */
    HU_NSYS_COMMAS,
    HU_NSYS_TABS
} hu_nsys_form;

typedef enum {
    HU_NSYS_COLUMN_OTHER,
    HU_NSYS_COLUMN_PCT,
    HU_NSYS_COLUMN_TOTAL,
    HU_NSYS_COLUMN_COUNT,
    HU_NSYS_COLUMN_MEAN,
    HU_NSYS_COLUMN_MEDIAN,
    HU_NSYS_COLUMN_LEAST,
    HU_NSYS_COLUMN_MOST,
    HU_NSYS_COLUMN_DEVIATION,
    HU_NSYS_COLUMN_GROUP,
    HU_NSYS_COLUMN_NAME
} hu_nsys_column;

enum { HU_NSYS_MOST_COLUMNS = 24 };

typedef struct {
    hu_nsys_form   form;
    size_t         n;
    hu_nsys_column columns[HU_NSYS_MOST_COLUMNS];
    size_t         begin[HU_NSYS_MOST_COLUMNS]; /* of COLUMNS: the character in which a column begins */
    double         unit;                        /* ns or bytes of one */
    bool           is_bytes;
    hu_str         count, name; /* headings of these columns, which tell reports apart */
    size_t         n_bytes;     /* of the headings and the line below them */
} hu_nsys_heading;

typedef enum { HU_NSYS_ROW, HU_NSYS_NO_ROW, HU_NSYS_CUT_ROW, HU_NSYS_NO_MEMORY } hu_nsys_taken;

/* Does `text` begin with the headings of a table of sums?  They end with the line, or with one of dashes below it. */
bool hu_nsys_heading_read(hu_str text, hu_nsys_heading *out);

/* The row that *text begins with, which is cut off it; a copy in `arena` where quotes were doubled. */
hu_nsys_taken hu_nsys_row_take(const hu_nsys_heading *heading, hu_str *text, hu_arena *arena, hu_nsys_row *out);

/* Cuts a line off the beginning; blanks and the carriage return at its end are not part of it. */
hu_str hu_nsys_line_take(hu_str *text);

#endif
