/* SPDX-License-Identifier: Apache-2.0
 * query.h - SQL over traces, read-only.  Nothing is copied: SQLite reads the columns of the traces. */
#ifndef HU_QUERY_QUERY_H
#define HU_QUERY_QUERY_H

#include "base/error.h"
#include "base/out.h"
#include "base/unread.h"
#include "trace/trace.h"

typedef struct hu_query hu_query;

typedef enum { HU_SQL_NULL, HU_SQL_INTEGER, HU_SQL_REAL, HU_SQL_TEXT } hu_sql_type;

typedef struct {
    hu_sql_type type;
    int64_t     integer;
    double      real;
    hu_str      text; /* until the next row */
} hu_sql_value;

/* What becomes of the answer: first the names of the columns, then each row; false stops. */
typedef struct {
    void *context;
    bool (*head)(void *context, const hu_str *names, int n);
    bool (*row)(void *context, const hu_sql_value *values, int n);
} hu_query_sink;

/* Traces and the inputs that are none, for the table `unread`, must outlive the query.  NULL on failure. */
hu_query *hu_query_open(hu_trace *const *traces, size_t n, const hu_unread_list *unread, hu_error *err);

/*
 * Runs one statement.  Returns 0, HU_ENOMEM, or HU_EUSAGE with SQLite's message: a bad statement, more than one, or one that
 * would change something.
 */
int hu_query_run(hu_query *q, hu_str sql, const hu_query_sink *sink, hu_error *err);

/* A statement that runs longer fails with HU_EUSAGE; results of more than 16 MB a value fail, too. */
void hu_query_limit(hu_query *q, int seconds);

void hu_query_close(hu_query *q);

/* Tables, columns and functions with type, unit and one sentence; as CSV the columns alone. */
void hu_query_write_schema(hu_out *out);
void hu_query_write_schema_csv(hu_out *out);
void hu_query_write_schema_json(hu_out *out);

/* Names of the tables that have a column of this name; returns how many, at most `most`. */
size_t hu_query_tables_with(const char *column, const char **out, size_t most);

/* Names of all tables and, unless `tables_only`, columns, for suggestions; returns how many, at most `most`. */
size_t hu_query_words(bool tables_only, const char **out, size_t most);

#endif
