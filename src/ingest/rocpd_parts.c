/* SPDX-License-Identifier: Apache-2.0
 * rocpd_parts.c - databases of several processes, as `rocpd convert` and merges of a job's databases make them. */
#include "ingest/rocpd_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "ingest/rocpd.h"

/* Where kernels say their process, and where their track does. */
static const char *const queries[] = {
    "SELECT DISTINCT p.pid FROM \"rocpd_kernel_dispatch%s\" k JOIN \"rocpd_info_process%s\" p ON p.id = k.pid",
    "SELECT DISTINCT p.pid FROM \"rocpd_kernel_dispatch%s\" k JOIN \"rocpd_track%s\" t ON t.id = k.track_id "
    "JOIN \"rocpd_info_process%s\" p ON p.id = t.pid",
};

static sqlite3_stmt *prepare(sqlite3 *db, const char *ending)
{
    char          sql[1024];
    sqlite3_stmt *statement = NULL;

    snprintf(sql, sizeof sql, queries[0], ending, ending);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK)
        return statement;
    snprintf(sql, sizeof sql, queries[1], ending, ending, ending);
    return sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK ? statement : NULL;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

size_t rocpd_list_pids(sqlite3 *db, hu_arena *arena, int64_t *out, size_t most)
{
    const char *endings[ROCPD_MOST_SETS];
    size_t      n_endings, n = 0, kept = 0;

    if (rocpd_list_endings(db, arena, endings, ROCPD_MOST_SETS, &n_endings) != SQLITE_OK)
        return 0;
    for (size_t i = 0; i < n_endings; i++) {
        sqlite3_stmt *statement = prepare(db, endings[i]);

        while (statement && n < most && sqlite3_step(statement) == SQLITE_ROW)
            out[n++] = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
    }
    if (n)
        qsort(out, n, sizeof *out, by_number);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || out[kept - 1] != out[i])
            out[kept++] = out[i];
    return kept;
}
