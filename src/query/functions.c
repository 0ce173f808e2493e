/* SPDX-License-Identifier: Apache-2.0
 * functions.c - aggregates keep their values in an arena of their own until SQLite asks for the result. */
#include "query/functions.h"

#include <stdlib.h>

#include "analyze/kernel_short.h"
#include "base/interval.h"

const hu_sql_function hu_sql_functions[] = {
    {"union_ns", "start_ns, end_ns", "Aggregate: time in ns that any of the intervals covers, each instant once."},
    {"median", "x", "Aggregate: the median; of an even number of values the mean of the middle two."},
    {"quantile", "x, q", "Aggregate: the q-quantile for q in 0..1, linear between neighbours as numpy's default."},
    {"overlap_ns", "a_start, a_end, b_start, b_end", "Time in ns that two intervals share."},
    {"short_name", "name", "The short form of a kernel's name: operation, type, tile."},
    {NULL, NULL, NULL},
};

typedef struct {
    hu_arena    *arena;
    hu_intervals intervals;
    HU_VEC(double) values;
    double q;
} state;

/* The state of this group, NULL when there is no memory. */
static state *state_of(sqlite3_context *context)
{
    state *s = sqlite3_aggregate_context(context, sizeof *s);

    if (s && !s->arena)
        s->arena = hu_arena_new();
    if (s && s->arena)
        return s;
    sqlite3_result_error_nomem(context);
    return NULL;
}

static void union_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    state *s = state_of(context);

    (void)argc;
    if (!s || sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL)
        return;
    if (!hu_intervals_add(s->arena, &s->intervals, sqlite3_value_int64(argv[0]), sqlite3_value_int64(argv[1])))
        sqlite3_result_error_nomem(context);
}

static void union_result(sqlite3_context *context)
{
    state *s = sqlite3_aggregate_context(context, 0);

    if (!s || !s->arena) {
        sqlite3_result_int64(context, 0);
        return;
    }
    if (hu_intervals_unite(s->arena, &s->intervals))
        sqlite3_result_int64(context, hu_intervals_length(&s->intervals));
    else
        sqlite3_result_error_nomem(context);
    hu_arena_free(s->arena);
    s->arena = NULL;
}

static void quantile_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    state *s = state_of(context);

    if (!s || sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    s->q = argc > 1 ? sqlite3_value_double(argv[1]) : 0.5;
    if (!(s->q >= 0 && s->q <= 1)) {
        sqlite3_result_error(context, "quantile(x, q) needs q between 0 and 1", -1);
        return;
    }
    if (!hu_vec_push(s->arena, &s->values, sqlite3_value_double(argv[0])))
        sqlite3_result_error_nomem(context);
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static void quantile_result(sqlite3_context *context)
{
    state *s = sqlite3_aggregate_context(context, 0);

    if (!s || !s->arena)
        return; /* of nothing: NULL */
    if (s->values.n) {
        const double position = s->q * (double)(s->values.n - 1);
        const size_t i = (size_t)position;

        qsort(s->values.at, s->values.n, sizeof *s->values.at, by_value);
        sqlite3_result_double(context, i + 1 < s->values.n ? s->values.at[i] + (position - (double)i) *
                                                                                   (s->values.at[i + 1] - s->values.at[i])
                                                           : s->values.at[i]);
    }
    hu_arena_free(s->arena);
    s->arena = NULL;
}

static void overlap(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t v[4], start, end;

    for (int i = 0; i < argc; i++) {
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return;
        v[i] = sqlite3_value_int64(argv[i]);
    }
    start = v[0] > v[2] ? v[0] : v[2];
    end = v[1] < v[3] ? v[1] : v[3];
    sqlite3_result_int64(context, end > start ? end - start : 0);
}

static void short_name(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    char        out[HU_KERNEL_SHORT_BYTES];
    hu_str      s;

    (void)argc;
    if (!text)
        return;
    s = hu_kernel_short((hu_str){text, (size_t)sqlite3_value_bytes(argv[0])}, out);
    sqlite3_result_text(context, s.p, (int)s.n, SQLITE_TRANSIENT);
}

int hu_sql_add_functions(sqlite3 *db)
{
    enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC };
    int rc = sqlite3_create_function(db, "union_ns", 2, FLAGS, NULL, NULL, union_step, union_result);

    if (rc == SQLITE_OK)
        rc = sqlite3_create_function(db, "median", 1, FLAGS, NULL, NULL, quantile_step, quantile_result);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function(db, "quantile", 2, FLAGS, NULL, NULL, quantile_step, quantile_result);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function(db, "overlap_ns", 4, FLAGS, NULL, overlap, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function(db, "short_name", 1, FLAGS, NULL, short_name, NULL, NULL);
    return rc;
}
