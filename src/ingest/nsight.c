/* SPDX-License-Identifier: Apache-2.0
 * nsight.c - exports of Nsight Systems: `nsys export --type sqlite` (docs/formats/nsight.md).
 *
 * The file is read in place, table after table.  One that lies in a pipe or is compressed has to be in memory first.
 */
#include "ingest/nsight.h"

#include "ingest/format.h"
#include "ingest/parts.h"
#include "ingest/strangers.h"

static const hu_str magic = {"SQLite format 3", 16}; /* with its NUL */

static bool probe(hu_str head)
{
    return hu_str_starts(head, magic);
}

static const int64_t WEEK_NS = INT64_C(7) * 24 * 3600 * 1000000000, ABSENT = -1;

/* Times begin at the start of the session, and what was going on then may have begun before. */
static bool is_time(int64_t ns)
{
    return ns != ABSENT && ns > -WEEK_NS && ns < INT64_MAX / 2;
}

bool nsight_times(nsight_reader *r, const nsight_rows *rows, int start, int end, hu_builder_slice *out)
{
    hu_quality   *q = hu_builder_quality(r->b);
    const int64_t from = nsight_int(rows, start, ABSENT), to = nsight_int(rows, end, ABSENT);

    q->events++;
    if (!is_time(from) || !is_time(to)) {
        hu_quality_count(q, is_time(from) ? HU_REASON_UNMATCHED_BEGIN : HU_REASON_NO_TIME, 0);
        return false;
    }
    if (to < from)
        hu_quality_count(q, HU_REASON_NEGATIVE_DURATION, from - to);
    out->start_ns = from;
    out->dur_ns = to > from ? to - from : 0;
    if (out->dur_ns > WEEK_NS) {
        hu_quality_count(q, HU_REASON_ABSURD_DURATION, 0);
        return false;
    }
    q->duration_sum_ns += out->dur_ns;
    return true;
}

void nsight_take_part(nsight_reader *r, int64_t pid)
{
    uint32_t *place = hu_map_put(&r->parts, (uint64_t)pid);

    if (place)
        *place = 0;
    else
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
}

static int check_schema(nsight_reader *r, hu_error *err)
{
    if (nsight_has(r, "StringIds"))
        return 0;
    if (r->error.code) {
        *err = r->error;
        return err->code;
    }
    return hu_fail(
        err, HU_EFORMAT, r->file, HU_NO_OFFSET, "this is %s",
        hu_stranger_database_words(nsight_has(r, "StringTable") && (nsight_has(r, "CUPTI_ACTIVITY_KIND_RUNTIME") ||
                                                                    nsight_has(r, "CUPTI_ACTIVITY_KIND_DRIVER")),
                                   nsight_has(r, "rocpd_op")));
}

/* What was read before a page that is broken is worth having; a file that gives nothing is an error. */
static int settle(nsight_reader *r, hu_error *err)
{
    if (r->error.code == HU_ENOMEM || (r->error.code && hu_builder_slice_count(r->b) == 0)) {
        *err = r->error;
        return err->code;
    }
    if (r->pid && hu_builder_slice_count(r->b) == 0)
        return hu_fail(err, HU_EEMPTY, r->file, HU_NO_OFFSET, "process %lld has no recorded calls or GPU work in this file",
                       (long long)r->pid);
    if (r->error.code)
        hu_builder_truncated(r->b, 0, r->error.text);
    return hu_builder_status(r->b, err);
}

static int read_all(sqlite3 *db, hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena     *arena = hu_arena_new();
    nsight_reader r = {.db = db,
                       .b = b,
                       .arena = arena,
                       .file = hu_input_name(in),
                       .pid = hu_input_part(in),
                       .most_calls = hu_input_limits(in)->os_calls};
    int           rc;

    if (!arena || !hu_map_init(&r.strings, arena, 1024) || !hu_map_init(&r.waits, arena, 64) ||
        !hu_map_init(&r.parts, arena, 16)) {
        hu_arena_free(arena);
        return hu_fail_memory(err);
    }
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)hu_input_limits(in)->event_bytes);
    rc = check_schema(&r, err);
    if (rc == 0) {
        nsight_read_about(&r);
        nsight_read_gpu(&r);
        nsight_read_ranges(&r);
        nsight_read_host(&r);
        nsight_read_threads(&r);
        nsight_read_directives(&r);
        nsight_read_names(&r);
        hu_builder_quality(b)->has_all_events = !r.error.code;
        rc = settle(&r, err);
    }
    hu_arena_free(arena);
    return rc;
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    return nsight_import(in, b, read_all, err);
}

const hu_format hu_format_nsight = {
    .name = "nsight-sqlite",
    .what = "SQLite exports of Nsight Systems (nsys export --type sqlite)",
    .suffixes = ".sqlite",
    .probe = probe,
    .import = import,
};
