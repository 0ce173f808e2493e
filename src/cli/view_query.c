/* SPDX-License-Identifier: Apache-2.0
 * view_query.c - the connection is opened by the first question, because it measures steps of every rank. */
#include "cli/view_query.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "base/number.h"

typedef struct {
    hu_json_out json;
    size_t      rows;
    bool        is_cut;
} answer;

static bool put_head(void *context, const hu_str *names, int n)
{
    answer *a = context;

    hu_json_open(&a->json, "columns", '[');
    for (int i = 0; i < n; i++)
        hu_json_str(&a->json, NULL, names[i]);
    hu_json_close(&a->json, ']');
    hu_json_open(&a->json, "rows", '[');
    return true;
}

static void put_value(hu_json_out *j, const hu_sql_value *v)
{
    char text[HU_NUMBER_BYTES];

    if (v->type == HU_SQL_INTEGER)
        hu_json_int(j, NULL, v->integer);
    else if (v->type == HU_SQL_REAL && isfinite(v->real) && snprintf(text, sizeof text, "%.17g", v->real) > 0)
        hu_json_digits(j, NULL, text);
    else if (v->type == HU_SQL_TEXT && v->text.p)
        hu_json_str(j, NULL, v->text);
    else
        hu_json_null(j, NULL);
}

static bool put_row(void *context, const hu_sql_value *values, int n)
{
    answer *a = context;

    if (a->rows == HU_VIEW_ROWS) {
        a->is_cut = true;
        return false;
    }
    a->rows++;
    hu_json_open(&a->json, NULL, '[');
    for (int i = 0; i < n; i++)
        put_value(&a->json, &values[i]);
    hu_json_close(&a->json, ']');
    return true;
}

static int open_query(hu_view_query *q, hu_error *err)
{
    if (q->query)
        return 0;
    q->traces = calloc(q->job->n + 1, sizeof *q->traces);
    if (!q->traces)
        return hu_fail_memory(err);
    for (size_t i = 0; i < q->job->n; i++)
        q->traces[i] = q->job->ranks[i].trace;
    q->query = hu_query_open(q->traces, q->job->n, &q->job->unread, err);
    if (q->query)
        hu_query_limit(q->query, HU_VIEW_SECONDS);
    return q->query ? 0 : err->code;
}

/* Written whole before it is sent: who is slow to read must not hold the lock. */
static int run(hu_view_query *q, const char *sql, hu_answer *a, hu_error *err)
{
    hu_out             *out = hu_out_open_memory(a->arena);
    answer              what = {.json = {.out = out, .is_empty = true, .is_line = true}};
    const hu_query_sink sink = {&what, put_head, put_row};
    int                 rc = out ? 0 : hu_fail_memory(err);

    if (rc < 0)
        return rc;
    hu_json_open(&what.json, NULL, '{');
    pthread_mutex_lock(&q->lock);
    if ((rc = open_query(q, err)) == 0)
        rc = hu_query_run(q->query, hu_str_of(sql), &sink, err);
    pthread_mutex_unlock(&q->lock);
    if (rc < 0) {
        hu_out_abandon(out);
        return rc;
    }
    hu_json_close(&what.json, ']');
    hu_json_bool(&what.json, "is_cut", what.is_cut);
    hu_json_close(&what.json, '}');
    return hu_out_take(out, &a->body, err);
}

void hu_view_query_init(hu_view_query *q, const hu_job *job)
{
    *q = (hu_view_query){.job = job};
    pthread_mutex_init(&q->lock, NULL);
}

void hu_view_query_free(hu_view_query *q)
{
    if (q->query)
        hu_query_close(q->query);
    free(q->traces);
    pthread_mutex_destroy(&q->lock);
}

int hu_view_query_answer(hu_view_query *q, const char *sql, hu_answer *a, hu_error *err)
{
    int rc;

    if (!sql || !sql[0])
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "sql needs a SELECT");
    a->type = "application/json";
    a->arena = hu_arena_new();
    if (!a->arena)
        return hu_fail_memory(err);
    rc = run(q, sql, a, err);
    if (rc < 0) {
        hu_arena_free(a->arena);
        a->arena = NULL;
    }
    return rc;
}
