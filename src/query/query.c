/* SPDX-License-Identifier: Apache-2.0
 * query.c - a connection in memory that holds nothing but virtual tables, and may do nothing but SELECT. */
#include "query/query.h"

#include <time.h>

#include "analyze/memory.h"
#include "query/functions.h"
#include "query/vtab.h"
#include "trace/nest.h"

struct hu_query {
    hu_arena      *arena;
    sqlite3       *db;
    hu_sql_source *sources;
    size_t         n_sources;
    int64_t        limit_s, end_ns;            /* of a statement; 0 none */
    bool           wants_self, wants_partners; /* columns that a statement reads and that are measured for those who ask */
};

static int fail(hu_query *q, hu_error *err)
{
    if (sqlite3_errcode(q->db) == SQLITE_NOMEM)
        return hu_fail_memory(err);
    if (sqlite3_errcode(q->db) == SQLITE_AUTH || strstr(sqlite3_errmsg(q->db), "may not be modified"))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "traces are read-only: only SELECT is allowed");
    if (sqlite3_errcode(q->db) == SQLITE_INTERRUPT)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "stopped after %lld s; ask for less", (long long)q->limit_s);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s", sqlite3_errmsg(q->db));
}

/*
 * Everything that reads is allowed; what remains would write, attach files or change settings.  SQLite asks for each column
 * that a statement reads while it prepares it.
 */
static int authorize(void *context, int action, const char *a, const char *b, const char *c, const char *d)
{
    hu_query *q = context;

    (void)c, (void)d;
    if (action == SQLITE_READ && a && b) {
        q->wants_self |= strcmp(a, "op") == 0 && strcmp(b, "self_ns") == 0;
        q->wants_partners |= strcmp(a, "memory") == 0 && strcmp(b, "until_ns") == 0;
    }
    if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE)
        return SQLITE_OK;
    return SQLITE_DENY;
}

/* Host time of operators, annotations and calls without those inside, as operators.c measures it. */
static const int64_t *measure_self(const hu_ask *ask)
{
    const unsigned counted = HU_BIT(CPU_OP) | HU_BIT(USER) | HU_KINDS_CALL;
    int64_t       *self = hu_arena_alloc(ask->arena, (ask->s.n + 1) * sizeof *self);
    uint32_t      *parent = hu_arena_grow(ask->arena, NULL, (ask->s.n + 1) * sizeof *parent);
    const bool     ok = self && parent && hu_nest_kinds(ask->trace, counted, parent, self, ask->arena);

    hu_arena_drop(ask->arena, parent);
    return ok ? self : NULL;
}

/* One window for each step: hu_intervals_add would join those that touch. */
static bool list_steps(hu_sql_source *s, hu_arena *arena)
{
    s->step_windows.at = hu_arena_calloc(arena, s->steps.n + 1, sizeof *s->step_windows.at);
    if (!s->step_windows.at)
        return false;
    s->step_windows.n = s->steps.n;
    for (size_t i = 0; i < s->steps.n; i++)
        s->step_windows.at[i] = (hu_interval){s->steps.at[i].host_start_ns, s->steps.at[i].host_end_ns};
    return true;
}

static int open_source(hu_query *q, const hu_trace *trace, size_t i, hu_error *err)
{
    hu_sql_source *s = &q->sources[i];
    int            rc = hu_ask_prepare(trace, q->arena, q->arena, &s->ask, err);

    s->trace = trace;
    s->rank = hu_trace_get_info(trace)->rank >= 0 ? hu_trace_get_info(trace)->rank : (int64_t)i;
    if (rc == 0)
        rc = hu_steps_measure(trace, s->ask.names, NULL, q->arena, q->arena, &s->steps, err);
    /* whoever looks for steps may do without memory in silence */
    if (rc == 0 && (!list_steps(s, q->arena) || hu_arena_lacked(q->arena)))
        return hu_fail_memory(err);
    return rc;
}

/* What the statement that was just prepared reads and no other did before. */
static int measure_columns(hu_query *q, hu_error *err)
{
    for (size_t i = 0; i < q->n_sources; i++) {
        hu_sql_source *s = &q->sources[i];

        if (q->wants_self && !s->self_ns && !(s->self_ns = measure_self(&s->ask)))
            return hu_fail_memory(err);
        if (q->wants_partners && !s->memory_partners && !(s->memory_partners = hu_memory_partners(&s->ask, q->arena)))
            return hu_fail_memory(err);
    }
    return 0;
}

/* The first use of a table declares its columns, which the authorizer would take for a CREATE. */
static bool touch(hu_query *q, const char *table)
{
    sqlite3_stmt *statement = NULL;
    char         *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\"", table);
    const int     rc = sql ? sqlite3_prepare_v2(q->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;

    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return rc == SQLITE_OK;
}

static int bind_tables(hu_query *q, hu_error *err)
{
    hu_sql_binding *b = hu_arena_calloc(q->arena, hu_sql_n_tables, sizeof *b);

    if (!b)
        return hu_fail_memory(err);
    for (size_t i = 0; i < hu_sql_n_tables; i++) {
        b[i] = (hu_sql_binding){&hu_sql_tables[i], q->sources, q->n_sources};
        if (hu_sql_bind(q->db, &b[i]) != SQLITE_OK || !touch(q, hu_sql_tables[i].name))
            return fail(q, err);
    }
    return hu_sql_add_functions(q->db) == SQLITE_OK ? 0 : fail(q, err);
}

hu_query *hu_query_open(hu_trace *const *traces, size_t n, const hu_unread_list *unread, hu_error *err)
{
    hu_arena *arena = NULL;
    hu_query *q;
    int       rc;

    if (hu_late_open(&hu_sqlite_library, err) < 0)
        return NULL;
    arena = hu_arena_new();
    q = arena ? hu_arena_calloc(arena, 1, sizeof *q) : NULL;
    rc = q ? 0 : hu_fail_memory(err);
    if (rc == 0) {
        q->arena = arena;
        q->n_sources = n;
        q->sources = hu_arena_calloc(arena, n + 1, sizeof *q->sources);
        rc = q->sources ? 0 : hu_fail_memory(err);
    }
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = open_source(q, traces[i], i, err);
    if (rc == 0 && n)
        q->sources[0].unread = unread;
    if (rc == 0 && sqlite3_open_v2(":memory:", &q->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL) != SQLITE_OK)
        rc = q->db ? fail(q, err) : hu_fail_memory(err);
    if (rc == 0)
        rc = bind_tables(q, err);
    if (rc == 0) {
        sqlite3_set_authorizer(q->db, authorize, q);
        return q;
    }
    if (q)
        hu_query_close(q);
    else
        hu_arena_free(arena);
    return NULL;
}

static bool is_blank(const char *text, const char *end)
{
    while (text < end && (*text == ' ' || *text == '\n' || *text == '\t' || *text == '\r' || *text == ';'))
        text++;
    return text >= end;
}

static void read_row(sqlite3_stmt *statement, hu_sql_value *values, int n)
{
    for (int i = 0; i < n; i++) {
        values[i] = (hu_sql_value){.type = HU_SQL_NULL};
        switch (sqlite3_column_type(statement, i)) {
        case SQLITE_INTEGER:
            values[i] = (hu_sql_value){.type = HU_SQL_INTEGER, .integer = sqlite3_column_int64(statement, i)};
            break;
        case SQLITE_FLOAT:
            values[i] = (hu_sql_value){.type = HU_SQL_REAL, .real = sqlite3_column_double(statement, i)};
            break;
        case SQLITE_TEXT:
        case SQLITE_BLOB:
            values[i].type = HU_SQL_TEXT;
            values[i].text.p = (const char *)sqlite3_column_text(statement, i);
            values[i].text.n = (size_t)sqlite3_column_bytes(statement, i);
            break;
        default:
            break;
        }
    }
}

static int deliver(hu_query *q, sqlite3_stmt *statement, const hu_query_sink *sink, hu_arena *arena, hu_error *err)
{
    const int     n = sqlite3_column_count(statement);
    hu_str       *names = hu_arena_calloc(arena, (size_t)n + 1, sizeof *names);
    hu_sql_value *values = hu_arena_calloc(arena, (size_t)n + 1, sizeof *values);
    int           step;

    if (!names || !values)
        return hu_fail_memory(err);
    for (int i = 0; i < n; i++)
        names[i] = hu_str_of(sqlite3_column_name(statement, i));
    if (!sink->head(sink->context, names, n))
        return 0;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        read_row(statement, values, n);
        if (!sink->row(sink->context, values, n))
            return 0;
    }
    return step == SQLITE_DONE ? 0 : fail(q, err);
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int is_over(void *context)
{
    const hu_query *q = context;

    return now_ns() > q->end_ns;
}

void hu_query_limit(hu_query *q, int seconds)
{
    enum { STEPS = 10000, VALUE_BYTES = 16 << 20 };

    q->limit_s = seconds;
    sqlite3_limit(q->db, SQLITE_LIMIT_LENGTH, VALUE_BYTES);
    sqlite3_progress_handler(q->db, STEPS, is_over, q);
}

int hu_query_run(hu_query *q, hu_str sql, const hu_query_sink *sink, hu_error *err)
{
    hu_arena     *arena = hu_arena_new();
    sqlite3_stmt *statement = NULL;
    const char   *rest = NULL;
    int           rc;

    if (!arena)
        return hu_fail_memory(err);
    q->end_ns = now_ns() + q->limit_s * 1000000000;
    if (sql.n > INT32_MAX || sqlite3_prepare_v2(q->db, sql.p, (int)sql.n, &statement, &rest) != SQLITE_OK)
        rc = fail(q, err);
    else if (!statement)
        rc = hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "the query has no statement");
    else if (!is_blank(rest, sql.p + sql.n))
        rc = hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "only one statement at a time: there is text after the first");
    else if ((rc = measure_columns(q, err)) == 0)
        rc = deliver(q, statement, sink, arena, err);
    sqlite3_finalize(statement);
    hu_arena_free(arena);
    return rc;
}

void hu_query_close(hu_query *q)
{
    sqlite3_close(q->db);
    hu_arena_free(q->arena);
}
