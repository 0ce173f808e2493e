/* SPDX-License-Identifier: Apache-2.0
 * query.c - what `holdup query` spends on reading a trace and on the statement, apart.
 *
 * usage: query FILE SQL ROUNDS     ns of reading, then medians in ns of opening the tables and of the statement; then its
 *                                  rows, one a line, values separated by tabs
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/sort.h"
#include "ingest/open.h"
#include "query/query.h"

enum { MOST_ROUNDS = 99 };

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static bool take_head(void *context, const hu_str *names, int n)
{
    (void)context, (void)names, (void)n;
    return true;
}

/* The context says whether rows are printed, which only those of the last round are. */
static bool take_row(void *context, const hu_sql_value *v, int n)
{
    const bool prints = *(const bool *)context;

    for (int i = 0; prints && i < n; i++) {
        if (i)
            putchar('\t');
        if (v[i].type == HU_SQL_TEXT)
            fwrite(v[i].text.p, 1, v[i].text.n, stdout);
        else if (v[i].type == HU_SQL_INTEGER)
            printf("%lld", (long long)v[i].integer);
        else if (v[i].type == HU_SQL_REAL)
            printf("%.17g", v[i].real);
    }
    if (prints)
        putchar('\n');
    return true;
}

/* One statement on tables that are opened for it, as the command does.  False after an error. */
static bool ask(hu_trace *t, hu_str sql, bool *prints, int64_t *opened, int64_t *answered, hu_error *err)
{
    const hu_query_sink  sink = {prints, take_head, take_row};
    const hu_unread_list unread = {0};
    const int64_t        began = now_ns();
    hu_query            *q = hu_query_open(&t, 1, &unread, err);
    int                  rc = q ? 0 : -1;

    *opened = now_ns() - began;
    if (rc == 0)
        rc = hu_query_run(q, sql, &sink, err);
    *answered = now_ns() - began - *opened;
    if (q)
        hu_query_close(q);
    return rc == 0;
}

static int run(const char *path, hu_str sql, int rounds, hu_error *err)
{
    const hu_input_options input = {.limits = hu_limits_default()};
    int64_t                opened[MOST_ROUNDS], answered[MOST_ROUNDS], began = now_ns(), read;
    hu_trace              *t = hu_open_trace(path, &input, err);
    bool                   good = t != NULL, prints = false;

    read = now_ns() - began;
    for (int r = 0; good && r < rounds; r++)
        good = ask(t, sql, &prints, &opened[r], &answered[r], err);
    if (good) {
        hu_sort_i64(opened, (size_t)rounds);
        hu_sort_i64(answered, (size_t)rounds);
        printf("%lld %lld %lld\n", (long long)read, (long long)opened[rounds / 2], (long long)answered[rounds / 2]);
        prints = true;
        good = ask(t, sql, &prints, &began, &read, err);
    }
    hu_trace_free(t);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    const int rounds = argc == 4 ? atoi(argv[3]) : 0;
    hu_error  err = {0};
    int       status;

    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: query FILE SQL ROUNDS\n");
        return 2;
    }
    status = run(argv[1], hu_str_of(argv[2]), rounds, &err);
    if (status)
        fprintf(stderr, "query: %s\n", err.text);
    return status;
}
