/* SPDX-License-Identifier: Apache-2.0
 * rocpd.c - databases of rocprofv3, which it writes by default since ROCm 7.0: *_results.db (docs/formats/rocprof.md). */
#include "ingest/rocpd.h"

#include <stdio.h>

#include "ingest/format.h"
#include "ingest/rocpd_parts.h"

static const hu_str magic = {"SQLite format 3", 16}; /* with its NUL */

/* The schema stands in the first pages. */
static bool probe(hu_str head)
{
    return hu_str_starts(head, magic) &&
           (hu_str_has(head, HU_STR("rocpd_info_process")) || hu_str_has(head, HU_STR("rocpd_kernel_dispatch")));
}

const char *rocpd_table(const rocpd_reader *r, const char *name, char *out)
{
    snprintf(out, ROCPD_TABLE, "rocpd_%s%s", name, r->ending);
    return out;
}

bool rocpd_put(rocpd_reader *r, hu_map *map, int64_t id, size_t at)
{
    uint32_t *place = hu_map_put(map, (uint64_t)id);

    if (place)
        *place = (uint32_t)at;
    else
        hu_builder_fail(r->rocm.b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    return place;
}

const rocpd_process *rocpd_process_of(const rocpd_reader *r, int64_t id)
{
    const uint32_t place = hu_map_get(&r->processes, (uint64_t)id);

    return place == HU_MAP_NONE ? NULL : &r->process.at[place];
}

/* An ending that can stand in a statement: letters, digits and underscores. */
static bool is_ending(hu_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!hu_char_is_letter(s.p[i]) && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '_')
            return false;
    return s.n < ROCPD_ENDING;
}

int rocpd_list_endings(sqlite3 *db, hu_arena *arena, const char **out, size_t most, size_t *n)
{
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND "
                              "name LIKE 'rocpd\\_info\\_process%' ESCAPE '\\' ORDER BY rowid";
    const size_t      stem = sizeof "rocpd_info_process" - 1;
    sqlite3_stmt     *statement = NULL;
    int               rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    *n = 0;
    while (rc == SQLITE_OK && *n < most && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        hu_str      all = hu_str_of(name), ending;

        rc = SQLITE_OK;
        if (all.n < stem)
            continue;
        ending = (hu_str){all.p + stem, all.n - stem};
        if (!is_ending(ending))
            continue;
        out[*n] = hu_arena_copy(arena, ending).p;
        if (!out[*n])
            rc = SQLITE_NOMEM;
        else
            ++*n;
    }
    sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Says what a database does not have, once. */
static void warn_missing(rocpd_reader *r)
{
    static const char *const needed[] = {"string",      "info_agent", "info_kernel_symbol", "event", "kernel_dispatch",
                                         "memory_copy", "region"};
    char                     words[256], table[ROCPD_TABLE];
    size_t                   n = 0;

    for (size_t i = 0; i < HU_COUNT(needed); i++)
        if (!nsight_has(&r->n, rocpd_table(r, needed[i], table)))
            n += (size_t)snprintf(words + n, sizeof words - n, "%srocpd_%s", n ? ", " : "", needed[i]);
    if (n) {
        char said[300];

        snprintf(said, sizeof said, "the database has no table %s", words);
        rocm_warn(&r->rocm, said);
    }
}

static void read_set(rocpd_reader *r, const char *ending)
{
    snprintf(r->ending, sizeof r->ending, "%s", ending);
    r->process.n = r->tid.n = r->symbol.n = r->event.n = r->track.n = r->time.n = 0;
    hu_map_clear(&r->n.strings);
    hu_map_clear(&r->processes);
    hu_map_clear(&r->threads);
    hu_map_clear(&r->symbols);
    hu_map_clear(&r->events);
    hu_map_clear(&r->tracks);
    hu_map_clear(&r->times);
    if (r->set == 0)
        warn_missing(r);
    rocpd_read_about(r);
    rocpd_read_rows(r);
    r->set++;
}

/* What was read before a page that is broken is worth having; a file that gives nothing is an error. */
static int settle(rocpd_reader *r, hu_error *err)
{
    hu_builder  *b = r->rocm.b;
    const size_t n = hu_builder_slice_count(b);

    if (hu_builder_status(b, err) < 0)
        return err->code;
    if (r->n.error.code == HU_ENOMEM || (r->n.error.code && n == 0)) {
        *err = r->n.error;
        return err->code;
    }
    if (r->rocm.part && n == 0)
        return hu_fail(err, HU_EEMPTY, r->n.file, HU_NO_OFFSET,
                       "process %lld has no recorded calls or GPU work in this file", (long long)r->rocm.part);
    if (n == 0)
        return hu_fail(
            err, HU_EEMPTY, r->n.file, HU_NO_OFFSET,
            "a database of rocprofv3 without kernels, copies, calls or markers; record with: rocprofv3 --sys-trace -- "
            "COMMAND");
    if (r->n.error.code)
        hu_builder_truncated(b, 0, r->n.error.text);
    return hu_builder_status(b, err);
}

static bool init(rocpd_reader *r, hu_builder *b, hu_arena *arena)
{
    return rocm_init(&r->rocm, b, arena) && hu_map_init(&r->n.strings, arena, 1024) && hu_map_init(&r->n.waits, arena, 1) &&
           hu_map_init(&r->n.parts, arena, 1) && hu_map_init(&r->processes, arena, 16) &&
           hu_map_init(&r->threads, arena, 16) && hu_map_init(&r->symbols, arena, 256) &&
           hu_map_init(&r->events, arena, 1024) && hu_map_init(&r->tracks, arena, 64) && hu_map_init(&r->times, arena, 64);
}

static int read_all(sqlite3 *db, hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena     *arena = hu_arena_new();
    rocpd_reader *r = arena ? hu_arena_calloc(arena, 1, sizeof *r) : NULL;
    const char   *endings[ROCPD_MOST_SETS];
    size_t        n = 0;
    int           rc;

    if (!r || !init(r, b, arena)) {
        hu_arena_free(arena);
        return hu_fail_memory(err);
    }
    r->n.db = db;
    r->n.b = b;
    r->n.arena = arena;
    r->n.file = hu_input_name(in);
    r->rocm.part = hu_input_part(in);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)hu_input_limits(in)->event_bytes);
    hu_builder_info(b)->tool = HU_STR("rocprofv3 (ROCm)");
    rc = rocpd_list_endings(db, arena, endings, ROCPD_MOST_SETS, &n);
    if (rc != SQLITE_OK) {
        rc = hu_fail(err, rc == SQLITE_NOMEM ? HU_ENOMEM : HU_EIO, r->n.file, HU_NO_OFFSET, "%s", sqlite3_errmsg(db));
    } else if (n == 0) {
        rc = hu_fail(err, HU_EFORMAT, r->n.file, HU_NO_OFFSET,
                     "an SQLite database that names rocpd, but has no table rocpd_info_process_...; pass the *_results.db "
                     "that rocprofv3 wrote");
    } else {
        for (size_t i = 0; i < n && !r->n.error.code && hu_builder_status(b, NULL) == 0; i++)
            read_set(r, endings[i]);
        rocm_finish(&r->rocm);
        hu_builder_quality(b)->has_all_events = !r->n.error.code;
        rc = settle(r, err);
    }
    hu_arena_free(arena);
    return rc;
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    return nsight_import(in, b, read_all, err);
}

const hu_format hu_format_rocpd = {
    .name = "rocpd",
    .what = "rocprofv3's databases (rocpd)",
    .suffixes = ".db",
    .probe = probe,
    .import = import,
};
