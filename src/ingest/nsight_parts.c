/* SPDX-License-Identifier: Apache-2.0
 * nsight_parts.c - one capture of all processes of a node, as `nsys profile torchrun …` makes it: who used a GPU. */
#include "ingest/parts.h"

#include <stdio.h>
#include <sys/stat.h>

#include "ingest/nsight.h"
#include "ingest/rocpd_parts.h"

enum { MOST_PARTS = 1024 };

/* A pipe is no database, and a look at it would lose its beginning. */
static bool is_database(const char *path)
{
    static const char magic[16] = "SQLite format 3";
    char              head[sizeof magic] = "";
    struct stat       st;
    FILE             *f = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    const bool        is = f && fread(head, sizeof head, 1, f) == 1 && memcmp(head, magic, sizeof magic) == 0;

    if (f)
        fclose(f);
    return is;
}

bool hu_parts_find(const char *path, hu_arena *arena, hu_parts *out)
{
    sqlite3      *db = is_database(path) ? nsight_open(path, HU_STR(""), NULL) : NULL;
    sqlite3_stmt *statement = NULL;
    int64_t      *pids = db ? hu_arena_alloc(arena, MOST_PARTS * sizeof *pids) : NULL;

    *out = (hu_parts){.at = pids};
    if (!db)
        return true;
    if (pids && sqlite3_prepare_v2(db,
                                   "SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid IS NOT NULL "
                                   "GROUP BY globalPid ORDER BY globalPid",
                                   -1, &statement, NULL) == SQLITE_OK)
        while (out->n < MOST_PARTS && sqlite3_step(statement) == SQLITE_ROW)
            pids[out->n++] = nsight_pid(sqlite3_column_int64(statement, 0));
    sqlite3_finalize(statement);
    if (pids && out->n == 0)
        out->n = rocpd_list_pids(db, arena, pids, MOST_PARTS);
    out->n = out->n > 1 ? out->n : 0;
    sqlite3_close(db);
    return pids;
}
