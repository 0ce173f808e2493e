/* SPDX-License-Identifier: Apache-2.0
 * schema.h - the tables of `holdup query`: each column once, with its meaning and how its value is read. */
#ifndef HU_QUERY_SCHEMA_H
#define HU_QUERY_SCHEMA_H

#include "base/late/sqlite.h"

#include "analyze/ask.h"
#include "base/unread.h"

/* One trace as tables read it. */
typedef struct {
    const hu_trace *trace;
    hu_ask          ask; /* order, tracks, names, GPU work */
    hu_steps        steps;
    hu_intervals    step_windows;    /* host times of the steps */
    const int64_t  *self_ns;         /* by slice: host time without operators, annotations and calls inside; NULL: unread */
    const uint32_t *memory_partners; /* by row of hu_trace_memory(): analyze/memory.h; NULL: unread */
    int64_t         rank;            /* as recorded, else the number of the file */

    const hu_unread_list *unread; /* of the whole query, with the first trace; NULL with the others */
} hu_sql_source;

typedef struct {
    const char *name, *type;
    const char *unit; /* "ns", "bytes"; "" none */
    const char *help; /* one sentence */
} hu_sql_column;

typedef struct {
    const char          *name, *about; /* one sentence: what a row is */
    const hu_sql_column *columns;
    int                  n_columns;
    unsigned             kinds;             /* rows are the slices of these kinds, numbered as slices; 0: see rows */
    size_t (*rows)(const hu_sql_source *s); /* instead: rows 0, 1, 2 … */
    void (*value)(const hu_sql_source *s, size_t row, int column, sqlite3_context *out);
    int rank_column, id_column, name_column; /* -1: there is none */
} hu_sql_table;

/* A text that lives as long as its trace; NULL where it is empty. */
static inline void hu_sql_text(sqlite3_context *out, hu_str t)
{
    if (t.n)
        sqlite3_result_text64(out, t.p, t.n, SQLITE_STATIC, SQLITE_UTF8);
}

extern const hu_sql_table hu_sql_tables[];
extern const size_t       hu_sql_n_tables;

#endif
