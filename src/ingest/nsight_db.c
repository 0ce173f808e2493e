/* SPDX-License-Identifier: Apache-2.0
 * nsight_db.c - a database of others, read without trust: only tables, no views, no triggers, nothing written.
 *
 * A view with a table's name could run without end, so only what sqlite_master calls a table with pages of its own is read.
 * The file is opened as immutable: no locks, no journal beside somebody else's file, and nothing is copied.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ingest/nsight.h"

enum { PATH_BYTES = 3 * 4096 + 64, SQL_BYTES = 4096 };

/* A path as part of a URI. */
static bool encode(const char *path, char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "file:");

    for (; *path; path++) {
        if (n + 4 >= room)
            return false;
        if (*path == '?' || *path == '#' || *path == '%')
            n += (size_t)snprintf(out + n, room - n, "%%%02x", (unsigned)(unsigned char)*path);
        else
            out[n++] = *path;
    }
    return snprintf(out + n, room - n, "?immutable=1") < (int)(room - n);
}

static bool forbid(sqlite3 *db)
{
    return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)NULL) == SQLITE_OK &&
           sqlite3_exec(db, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0", NULL, NULL, NULL) == SQLITE_OK;
}

sqlite3 *nsight_open(const char *path, hu_str bytes, hu_error *err)
{
    char     uri[PATH_BYTES];
    sqlite3 *db = NULL;
    int      rc;

    if (hu_late_open(&hu_sqlite_library, err) < 0)
        return NULL;
    if (path && !encode(path, uri, sizeof uri)) {
        hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "the path is too long");
        return NULL;
    }
    rc = sqlite3_open_v2(path ? uri : ":memory:", &db, path ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE,
                         NULL);
    if (rc == SQLITE_OK && !path)
        rc = sqlite3_deserialize(db, "main", (unsigned char *)(uintptr_t)bytes.p, (sqlite3_int64)bytes.n,
                                 (sqlite3_int64)bytes.n, SQLITE_DESERIALIZE_READONLY);
    if (rc != SQLITE_OK || !forbid(db)) {
        hu_fail(err, rc == SQLITE_NOMEM ? HU_ENOMEM : HU_EIO, path, HU_NO_OFFSET, "cannot open the database: %s",
                db ? sqlite3_errmsg(db) : "out of memory");
        sqlite3_close(db);
        return NULL;
    }
    return db;
}

/* The first failure stays.  What was read before a broken page is kept, and the rest counts as cut off. */
static void failed(nsight_reader *r, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE || r->error.code)
        return;
    hu_fail(&r->error, rc == SQLITE_NOMEM ? HU_ENOMEM : HU_EIO, r->file, HU_NO_OFFSET, "%s", sqlite3_errmsg(r->db));
}

bool nsight_has(nsight_reader *r, const char *table)
{
    sqlite3_stmt *statement = NULL;
    bool          found = false;
    int rc = sqlite3_prepare_v2(r->db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?1", -1,
                                &statement, NULL);

    if (rc == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
        rc = sqlite3_step(statement);
        found = rc == SQLITE_ROW;
    }
    failed(r, rc);
    sqlite3_finalize(statement);
    return found;
}

int64_t nsight_last_row(nsight_reader *r, const char *table)
{
    sqlite3_stmt *statement = NULL;
    char          sql[256];
    int64_t       last = 0;

    if (!nsight_has(r, table))
        return 0;
    snprintf(sql, sizeof sql, "SELECT max(rowid) FROM \"%s\"", table);
    if (sqlite3_prepare_v2(r->db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        last = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return last;
}

/* Which of the columns the table has, one bit each. */
static uint32_t columns_of(nsight_reader *r, const char *table, const char *const *columns)
{
    sqlite3_stmt *statement = NULL;
    uint32_t      present = 0;
    int           rc = sqlite3_prepare_v2(r->db, "SELECT name FROM pragma_table_info(?1)", -1, &statement, NULL);

    if (rc == SQLITE_OK)
        sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);

        rc = SQLITE_OK;
        for (unsigned i = 0; name && columns[i]; i++)
            if (strcmp(columns[i], name) == 0)
                present |= 1u << i;
    }
    failed(r, rc);
    sqlite3_finalize(statement);
    return present;
}

bool nsight_begin(nsight_reader *r, nsight_rows *rows, const char *table, const char *const *columns, const char *order)
{
    char   sql[SQL_BYTES];
    size_t n = 0;
    int    rc;

    *rows = (nsight_rows){.r = r};
    if (r->error.code || !nsight_has(r, table))
        return false;
    rows->present = columns_of(r, table, columns);
    n += (size_t)snprintf(sql, sizeof sql, "SELECT ");
    for (unsigned i = 0; columns[i]; i++)
        n += (size_t)snprintf(sql + n, sizeof sql - n, rows->present >> i & 1 ? "%s\"%s\"" : "%sNULL", i ? ", " : "",
                              columns[i]);
    n += (size_t)snprintf(sql + n, sizeof sql - n, " FROM \"%s\"", table);
    if (order)
        snprintf(sql + n, sizeof sql - n, " ORDER BY %s", order);
    rc = r->error.code ? SQLITE_OK : sqlite3_prepare_v2(r->db, sql, -1, &rows->statement, NULL);
    failed(r, rc);
    return !r->error.code;
}

bool nsight_next(nsight_rows *rows)
{
    nsight_reader *r = rows->r;
    const int      rc = hu_builder_status(r->b, NULL) < 0 ? SQLITE_DONE : sqlite3_step(rows->statement);

    if (rc == SQLITE_ROW)
        return true;
    failed(r, rc);
    sqlite3_finalize(rows->statement);
    rows->statement = NULL;
    return false;
}

static bool is_absent(const nsight_rows *rows, int column)
{
    return sqlite3_column_type(rows->statement, column) == SQLITE_NULL;
}

int64_t nsight_int(const nsight_rows *rows, int column, int64_t absent)
{
    return is_absent(rows, column) ? absent : sqlite3_column_int64(rows->statement, column);
}

int32_t nsight_int32(const nsight_rows *rows, int column, int32_t absent)
{
    const int64_t v = nsight_int(rows, column, absent);

    return v >= INT32_MIN && v <= INT32_MAX ? (int32_t)v : absent;
}

double nsight_real(const nsight_rows *rows, int column, double absent)
{
    return is_absent(rows, column) ? absent : sqlite3_column_double(rows->statement, column);
}

hu_str nsight_text(const nsight_rows *rows, int column)
{
    const char *p = (const char *)sqlite3_column_text(rows->statement, column);

    return p ? (hu_str){p, (size_t)sqlite3_column_bytes(rows->statement, column)} : HU_STR("");
}

uint32_t nsight_string(const nsight_rows *rows, int column)
{
    uint32_t id;

    if (is_absent(rows, column))
        return 0;
    id = hu_map_get(&rows->r->strings, (uint64_t)sqlite3_column_int64(rows->statement, column));
    if (id == HU_MAP_NONE) {
        hu_quality_count(hu_builder_quality(rows->r->b), HU_REASON_UNKNOWN_ID, 0);
        return 0;
    }
    return id;
}

hu_str nsight_find(nsight_reader *r, const char *table, const char *key, const char *value, const char *wanted)
{
    const char *const columns[] = {key, wanted, NULL};
    nsight_rows       rows;
    hu_str            found = HU_STR("");

    if (!nsight_begin(r, &rows, table, columns, NULL))
        return found;
    while (nsight_next(&rows))
        if (hu_str_equal(nsight_text(&rows, 0), hu_str_of(value)))
            found = hu_arena_copy(r->arena, nsight_text(&rows, 1));
    return found.p ? found : HU_STR("");
}

int nsight_import(hu_input *in, hu_builder *b, nsight_read_all *read_all, hu_error *err)
{
    const char *path = hu_input_path(in);
    hu_arena   *arena = hu_arena_new();
    hu_str      bytes = HU_STR("");
    struct stat st;
    int         rc = !arena ? hu_fail_memory(err) : path ? 0 : hu_input_read_whole(in, arena, &bytes, err);
    sqlite3    *db = rc == 0 ? nsight_open(path, bytes, err) : NULL;

    rc = db ? read_all(db, in, b, err) : err->code;
    if (path && stat(path, &st) == 0)
        bytes.n = (size_t)st.st_size;
    hu_builder_info(b)->bytes = (int64_t)bytes.n;
    if (rc < 0 && !err->file[0])
        snprintf(err->file, sizeof err->file, "%s", hu_input_name(in));
    if (db)
        sqlite3_close(db);
    hu_arena_free(arena);
    return rc;
}
