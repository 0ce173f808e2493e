/* SPDX-License-Identifier: Apache-2.0
 * vtab.c - cursors that walk the columns of frozen traces, one trace after the other.
 *
 * Equality on `id` is a look-up, so that joins on launch, op or parent cost nothing; equality on `rank` skips traces, and on
 * `name` compares string ids instead of texts.  SQLite checks every constraint again: a cursor may return too much.
 * GROUP BY name gets the rows name by name (groups.c), so that SQLite need not sort as many texts as there are rows.
 */
#include "query/vtab.h"

#include "query/groups.h"

#include <stdio.h>

typedef struct {
    sqlite3_vtab          base;
    const hu_sql_binding *binding;
} table;

typedef struct {
    sqlite3_vtab_cursor   base;
    const hu_sql_binding *binding;
    size_t                source, row, end;
    hu_arena             *arena;  /* of `groups`; NULL while there are none */
    hu_sql_groups         groups; /* by name: the rows of groups.at[run], of which `row` is number `place` */
    size_t                run, place;
    int                   plan;
    int64_t               id, rank;
    char                 *name; /* sqlite3_malloc; NULL: any */
    size_t                name_n;
    uint32_t              name_id; /* of the present source */
} cursor;

enum { BY_ID = 1, BY_RANK = 2, BY_NAME = 4, IN_GROUPS = 8, DOWNWARDS = 16 };

/* CREATE TABLE text is what tells SQLite the columns. */
static char *declaration(const hu_sql_table *t)
{
    sqlite3_str *text = sqlite3_str_new(NULL);

    sqlite3_str_appendall(text, "CREATE TABLE x(");
    for (int i = 0; i < t->n_columns; i++)
        sqlite3_str_appendf(text, "%s\"%w\" %s", i ? "," : "", t->columns[i].name, t->columns[i].type);
    sqlite3_str_appendall(text, ")");
    return sqlite3_str_finish(text);
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    hu_sql_binding *binding = aux;
    char           *text = declaration(binding->table);
    table          *t = sqlite3_malloc(sizeof *t);
    int             rc = text && t ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;

    (void)argc, (void)argv, (void)message;
    sqlite3_free(text);
    if (rc != SQLITE_OK) {
        sqlite3_free(t);
        return rc;
    }
    *t = (table){.binding = binding};
    *out = &t->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *v)
{
    sqlite3_free(v);
    return SQLITE_OK;
}

static double count_rows(const hu_sql_binding *b)
{
    double n = 0;

    for (size_t i = 0; i < b->n_sources; i++)
        n += b->table->kinds ? (double)b->sources[i].ask.s.n : (double)b->table->rows(&b->sources[i]);
    return n;
}

/* The first usable constraint "column = value" on this column gets the next argument; its bit goes into the plan. */
static void use(sqlite3_index_info *info, int column, int bit, int *arguments)
{
    for (int i = 0; column >= 0 && i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn == column && info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
            info->aConstraint[i].usable) {
            info->aConstraintUsage[i].argvIndex = ++*arguments;
            info->idxNum |= bit;
            return;
        }
    }
}

/* Will a GROUP BY name be served?  Not where one row or one name is looked up; and SQLite before 3.38 does not tell that
   it groups. */
static bool wants_groups(const hu_sql_table *t, sqlite3_index_info *info)
{
    enum { GROUPED = 1 };

    if (!t->kinds || info->nOrderBy != 1 || info->aOrderBy[0].iColumn != t->name_column || info->idxNum & (BY_ID | BY_NAME))
        return false;
#if SQLITE_VERSION_NUMBER >= 3038000
    return sqlite3_vtab_distinct(info) == GROUPED;
#else
    return GROUPED == 0;
#endif
}

static int best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
    const hu_sql_binding *b = ((table *)v)->binding;
    double                rows = count_rows(b) + 1;
    int                   arguments = 0;

    info->idxNum = 0;
    use(info, b->table->id_column, BY_ID, &arguments);
    use(info, b->table->rank_column, BY_RANK, &arguments);
    use(info, b->table->name_column, BY_NAME, &arguments);
    if (wants_groups(b->table, info)) {
        info->idxNum |= IN_GROUPS | (info->aOrderBy[0].desc ? DOWNWARDS : 0);
        info->orderByConsumed = 1;
    }
    info->estimatedCost = rows;
    if (info->idxNum & BY_RANK)
        info->estimatedCost /= (double)b->n_sources;
    if (info->idxNum & BY_ID)
        info->estimatedCost = info->idxNum & BY_RANK ? 1 : (double)b->n_sources;
    rows = info->idxNum & BY_ID ? 1 : info->idxNum & BY_NAME ? rows / 50 + 1 : rows;
    info->estimatedRows = (sqlite3_int64)rows;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
    cursor *c = sqlite3_malloc(sizeof *c);

    if (!c)
        return SQLITE_NOMEM;
    *c = (cursor){.binding = ((table *)v)->binding};
    *out = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    hu_arena_free(((cursor *)base)->arena);
    sqlite3_free(((cursor *)base)->name);
    sqlite3_free(base);
    return SQLITE_OK;
}

static bool fits(const cursor *c)
{
    const hu_sql_source *s = &c->binding->sources[c->source];
    const hu_sql_table  *t = c->binding->table;

    return !t->kinds || (hu_kind_in(s->ask.s.kind[c->row], t->kinds) && (!c->name || s->ask.s.name[c->row] == c->name_id));
}

/* Sets the range of rows of the present source; empty where nothing can fit. */
static void enter(cursor *c)
{
    const hu_sql_source *s = &c->binding->sources[c->source];
    const hu_sql_table  *t = c->binding->table;

    c->row = 0;
    c->end = t->kinds ? s->ask.s.n : t->rows(s);
    if (c->plan & BY_RANK && s->rank != c->rank)
        c->end = 0;
    if (c->name) {
        c->name_id = hu_trace_find_text(s->trace, (hu_str){c->name, c->name_n});
        if (c->name_id == HU_NONE)
            c->end = 0;
    }
    if (c->plan & BY_ID) {
        if (c->id < 0 || (uint64_t)c->id >= c->end) {
            c->end = 0;
        } else {
            c->row = (size_t)c->id;
            c->end = c->row + 1;
        }
    }
}

/* To the next row that fits, the present one included. */
static void settle(cursor *c)
{
    while (c->source < c->binding->n_sources) {
        while (c->row < c->end && !fits(c))
            c->row++;
        if (c->row < c->end)
            return;
        if (++c->source < c->binding->n_sources)
            enter(c);
    }
}

/*
 * The same, name by name.  Rows of one name lie far from each other: what is mostly asked of a group is on its way when its
 * row comes.  (In a function of its own, gcc takes the prefetch for nothing at all.)
 */
enum { AHEAD = 16 };

static void settle_in_groups(cursor *c)
{
    for (; c->run < c->groups.n; c->run++, c->place = 0) {
        const hu_sql_run *run = &c->groups.at[c->run];

        if (c->place < run->n && (!(c->plan & BY_RANK) || c->binding->sources[run->source].rank == c->rank)) {
            c->source = run->source;
            c->row = run->row[c->place];
            if (c->place + AHEAD < run->n)
                __builtin_prefetch(&c->binding->sources[c->source].ask.s.dur_ns[run->row[c->place + AHEAD]]);
            return;
        }
    }
    c->source = c->binding->n_sources;
}

/* To the first row; groups are made once for a cursor, because they depend on no value. */
static int begin(cursor *c)
{
    if (!(c->plan & IN_GROUPS)) {
        if (c->source < c->binding->n_sources)
            enter(c);
        settle(c);
        return SQLITE_OK;
    }
    if (!c->arena) {
        c->arena = hu_arena_new();
        if (!c->arena || !hu_sql_groups_make(c->binding, c->plan & DOWNWARDS, c->arena, &c->groups)) {
            hu_arena_free(c->arena);
            c->arena = NULL;
            return SQLITE_NOMEM;
        }
    }
    c->run = c->place = 0;
    settle_in_groups(c);
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc, sqlite3_value **argv)
{
    cursor *c = (cursor *)base;
    int     next = 0;

    (void)text;
    sqlite3_free(c->name);
    c->name = NULL;
    c->plan = plan;
    c->source = 0;
    if (plan & BY_ID && next < argc) {
        /* what is no whole number can be no id, and is left to SQLite to compare with everything */
        if (sqlite3_value_numeric_type(argv[next]) == SQLITE_INTEGER)
            c->id = sqlite3_value_int64(argv[next]);
        else
            c->plan &= ~BY_ID;
        next++;
    }
    if (plan & BY_RANK && next < argc) {
        if (sqlite3_value_numeric_type(argv[next]) == SQLITE_INTEGER)
            c->rank = sqlite3_value_int64(argv[next]);
        else
            c->plan &= ~BY_RANK;
        next++;
    }
    if (plan & BY_NAME && next < argc && sqlite3_value_type(argv[next]) == SQLITE_TEXT) {
        c->name = sqlite3_mprintf("%s", sqlite3_value_text(argv[next]));
        if (!c->name)
            return SQLITE_NOMEM;
        c->name_n = (size_t)sqlite3_value_bytes(argv[next]);
        if (strlen(c->name) != c->name_n) { /* a text with a NUL in it */
            sqlite3_free(c->name);
            c->name = NULL;
        }
    }
    return begin(c);
}

static int next_row(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;

    if (c->plan & IN_GROUPS) {
        c->place++;
        settle_in_groups(c);
    } else {
        c->row++;
        settle(c);
    }
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    return ((cursor *)base)->source >= ((cursor *)base)->binding->n_sources;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int number)
{
    const cursor       *c = (cursor *)base;
    const hu_sql_table *t = c->binding->table;

    if (c->plan & IN_GROUPS && number == t->name_column) /* without a look at the row, which is somewhere else each time */
        hu_sql_text(out, c->groups.at[c->run].name);
    else
        t->value(&c->binding->sources[c->source], c->row, number, out);
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)((uint64_t)((cursor *)base)->source << 40 | ((cursor *)base)->row);
    return SQLITE_OK;
}

/* Without xCreate a table needs no CREATE and has nothing to drop; without xUpdate it is read-only. */
/* clang-format off */
static const sqlite3_module module = {
    .iVersion = 0, .xConnect = connect, .xBestIndex = best_index, .xDisconnect = disconnect, .xOpen = open_cursor,
    .xClose = close_cursor, .xFilter = filter, .xNext = next_row, .xEof = at_end, .xColumn = column, .xRowid = row_id,
};
/* clang-format on */

int hu_sql_bind(sqlite3 *db, hu_sql_binding *binding)
{
    return sqlite3_create_module(db, binding->table->name, &module, binding);
}
