/* SPDX-License-Identifier: Apache-2.0
 * columns.h - what a table is: columns that read a digest; text, CSV, JSON and HTML are drawn from them. */
#ifndef HU_RENDER_TABLE_COLUMNS_H
#define HU_RENDER_TABLE_COLUMNS_H

#include "job/rank.h"

typedef enum {
    HU_CELL_TEXT,
    HU_CELL_NS, /* a time in ns; printed as an integer where programs read it */
    HU_CELL_COUNT,
    HU_CELL_ID,     /* a number that names something: 1230493, not 1,230,493 */
    HU_CELL_NUMBER, /* a plain number with decimals */
    HU_CELL_BYTES,
    HU_CELL_PERCENT, /* 0..100 */
    HU_CELL_BOOL,
} hu_cell_type;

typedef struct {
    hu_str  text;   /* HU_CELL_TEXT */
    hu_str  brief;  /* what stands for a text that does not fit; empty: part of it */
    double  number; /* the others; NaN is absent */
    int64_t whole;  /* the exact value, when is_whole: times since 1970 do not fit a double */
    bool    is_whole;
    bool    is_plain; /* a text that is no name of a function: cut at its end, not inside */
    int     indent;   /* of a text, in steps of one space: what lies inside of what */
} hu_cell;

/* A word that programs read, and what people read for it. */
typedef struct {
    const char *key, *words;
} hu_term;

typedef struct {
    const char  *key;  /* JSON member, CSV heading, --sort word; units in the name; NULL: for people alone */
    const char  *head; /* text heading; NULL: not in the text */
    hu_cell_type type;
    int          width;                 /* of the text column; 0 takes what is left and comes last */
    bool (*shown)(const hu_rank *rank); /* in text and page; NULL: always */
    void (*get)(const hu_rank *rank, size_t row, hu_cell *out);
    bool        is_wide; /* not in a text of less than HU_WIDE_TEXT columns */
    const char *help;    /* one sentence: what it is, of what, computed how, and when it is null */
    const char *values; /* of its JSON member, unless any number or null: words and ranges divided by |, "any", "0..|null" */
    const char *unit;   /* of HU_CELL_NUMBER: "GB/s"; NULL: what the type says */
    const char *source; /* where the formula comes from, when it is not our own: "HTA: idle_time(us)" */
    const hu_term *terms; /* of a text on the page: what stands for its values; ends with an empty row; NULL: as they are */
} hu_column;

enum { HU_WIDE_TEXT = 110 };

typedef struct {
    const char      *key; /* the member of JSON that holds its rows */
    const char      *title;
    const char      *about; /* one sentence: what a row is */
    const char      *empty; /* what to say when there are no rows */
    const hu_column *columns;
    size_t           n_columns;
    size_t (*rows)(const hu_rank *rank);
    bool is_series;  /* rows are equal pieces of time: too many for a text, which draws them as a line */
    bool is_ordered; /* rows refer to rows by number: --sort leaves them as they are */
    bool is_job;     /* rows are the ranks of a job: getters are given the first of them, and no `rows` counts them */
} hu_table;

/* "text", "ns", "count", "number", "bytes", "percent", "bool". */
const char *hu_columns_type(const hu_column *column);

/* "ns", "bytes", "%", "GB/s"; "" for a text, a count and a yes or no. */
const char *hu_columns_unit(const hu_column *column);

/* The column with this key, or NULL. */
const hu_column *hu_columns_find(const hu_table *table, hu_str key);

/*
 * Numbers of `n` rows in the order to print: as measured when `sort` is NULL or no column of this table, or the table
 * is_ordered; else numbers from large to small and texts from a to z, equal ones as measured.  Lives in `arena`; NULL when
 * there is no memory.
 */
const uint32_t *hu_columns_order(const hu_table *table, const hu_rank *rank, size_t n, const char *sort, hu_arena *arena);

#endif
