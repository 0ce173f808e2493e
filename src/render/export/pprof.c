/* SPDX-License-Identifier: Apache-2.0
 * pprof.c - a gzipped profile.proto: one sample for each stack, with the host's own time and the device's.
 *
 * Locations are operators, frames, kernels and threads; each is one function, and has no address.  One mapping says
 * that names are there, so that `go tool pprof` looks for no binary.  Functions have no system name: pprof takes a name
 * that is equal to it for mangled C++, and "<built-in method wait>" would come out empty.
 */
#include "base/gzip_out.h"
#include "base/protobuf_out.h"
#include "render/export/source_line.h"
#include "render/export/stacks.h"
#include "render/export/track_names.h"

/* clang-format off */
enum {
    SAMPLE_TYPE = 1, SAMPLE = 2, MAPPING = 3, LOCATION = 4, FUNCTION = 5, STRING = 6, TIME = 9, DURATION = 10,
    PERIOD_TYPE = 11, PERIOD = 12, DEFAULT_TYPE = 14,                           /* of Profile */
    TYPE_TYPE = 1, TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2,
    MAPPING_ID = 1, MAPPING_FILE = 5, HAS_FUNCTIONS = 7, HAS_FILES = 8, HAS_LINES = 9,
    LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_LINE = 2,
    FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4, FUNCTION_LINE = 5,
};
/* clang-format on */

/* The first strings, by their number. */
enum { S_EMPTY, S_HOST, S_DEVICE, S_NS, S_FILE, S_COUNT };

typedef struct {
    hu_gzip_out          *z;
    hu_pbw                w;     /* one field of the profile at a time */
    hu_arena             *arena; /* of the trace at hand */
    const hu_export      *e;
    const hu_export_part *part;
    hu_stacks             stacks;
    uint8_t              *used;      /* by frame, and one more for the rank */
    uint64_t              first;     /* what to add to a frame for the number of its location and function */
    uint64_t              n_strings; /* of the profile so far */
} writer;

static void flush(writer *p)
{
    if (!p->w.no_memory)
        hu_gzip_out_write(p->z, p->w.at, p->w.n);
    hu_pbw_clear(&p->w);
}

static uint64_t add_string(writer *p, hu_str text)
{
    hu_pb_write_str(&p->w, STRING, text);
    return p->n_strings++;
}

static void write_type(writer *p, uint32_t field, uint64_t type)
{
    const size_t open = hu_pb_write_open(&p->w, field);

    hu_pb_write_uint(&p->w, TYPE_TYPE, type);
    hu_pb_write_uint(&p->w, TYPE_UNIT, S_NS);
    hu_pb_write_close(&p->w, open);
}

static int64_t latest_ns(const hu_export *e)
{
    int64_t last = INT64_MIN;

    for (size_t k = 0; k < e->n; k++) {
        const hu_slices s = hu_trace_slices(e->parts[k].trace);
        const int64_t   base_ns = hu_export_base_ns(e->parts[k].trace);

        for (uint32_t i = 0; i < s.n; i++)
            if (hu_export_keeps(&e->parts[k], &s, i) && base_ns + s.start_ns[i] + s.dur_ns[i] > last)
                last = base_ns + s.start_ns[i] + s.dur_ns[i];
    }
    return last;
}

static void write_head(writer *p)
{
    const int64_t origin_ns = hu_export_origin_ns(p->e), last_ns = latest_ns(p->e);
    size_t        open;

    add_string(p, HU_STR(""));
    add_string(p, HU_STR("host"));
    add_string(p, HU_STR("device"));
    add_string(p, HU_STR("nanoseconds"));
    add_string(p, p->e->n ? hu_trace_get_info(p->e->parts[0].trace)->file : HU_STR(""));
    write_type(p, SAMPLE_TYPE, S_HOST);
    write_type(p, SAMPLE_TYPE, S_DEVICE);
    hu_pb_write_uint(&p->w, DEFAULT_TYPE, S_HOST);
    open = hu_pb_write_open(&p->w, MAPPING);
    hu_pb_write_uint(&p->w, MAPPING_ID, 1);
    hu_pb_write_uint(&p->w, MAPPING_FILE, S_FILE);
    hu_pb_write_uint(&p->w, HAS_FUNCTIONS, 1);
    hu_pb_write_uint(&p->w, HAS_FILES, 1);
    hu_pb_write_uint(&p->w, HAS_LINES, 1);
    hu_pb_write_close(&p->w, open);
    hu_pb_write_int(&p->w, TIME, origin_ns);
    if (last_ns > origin_ns)
        hu_pb_write_int(&p->w, DURATION, last_ns - origin_ns);
    write_type(p, PERIOD_TYPE, S_HOST);
    hu_pb_write_int(&p->w, PERIOD, 1);
    flush(p);
}

static uint32_t rank_frame(const writer *p)
{
    size_t n_tracks;

    hu_trace_tracks(p->part->trace, &n_tracks);
    return p->stacks.n_strings + (uint32_t)n_tracks;
}

/* The innermost frame comes first. */
static void write_sample(writer *p, size_t at)
{
    uint32_t     frames[HU_STACKS_DEEPEST];
    const size_t depth = hu_stacks_path(&p->stacks, at, frames), sample = hu_pb_write_open(&p->w, SAMPLE);
    size_t       list = hu_pb_write_open(&p->w, SAMPLE_LOCATION);

    for (size_t i = depth; i > 0; i--) {
        hu_pb_write_varint(&p->w, p->first + frames[i - 1]);
        p->used[frames[i - 1]] = 1;
    }
    if (p->e->n > 1) {
        hu_pb_write_varint(&p->w, p->first + rank_frame(p));
        p->used[rank_frame(p)] = 1;
    }
    hu_pb_write_close(&p->w, list);
    list = hu_pb_write_open(&p->w, SAMPLE_VALUE);
    hu_pb_write_varint(&p->w, (uint64_t)p->stacks.at[at].host_ns);
    hu_pb_write_varint(&p->w, (uint64_t)p->stacks.at[at].device_ns);
    hu_pb_write_close(&p->w, list);
    hu_pb_write_close(&p->w, sample);
    flush(p);
}

static void write_location(writer *p, uint64_t id, int64_t line)
{
    const size_t location = hu_pb_write_open(&p->w, LOCATION);
    size_t       open;

    hu_pb_write_uint(&p->w, LOCATION_ID, id);
    hu_pb_write_uint(&p->w, LOCATION_MAPPING, 1);
    open = hu_pb_write_open(&p->w, LOCATION_LINE);
    hu_pb_write_uint(&p->w, LINE_FUNCTION, id);
    if (line)
        hu_pb_write_int(&p->w, LINE_LINE, line);
    hu_pb_write_close(&p->w, open);
    hu_pb_write_close(&p->w, location);
}

static void write_frame(writer *p, uint64_t id, hu_str name)
{
    const uint64_t number = add_string(p, name.n ? name : HU_STR("(no name)"));
    hu_source_line at = {0};
    const uint64_t file = hu_source_line_of(name, &at) ? add_string(p, at.file) : S_EMPTY;
    size_t         open;

    write_location(p, id, at.line);
    open = hu_pb_write_open(&p->w, FUNCTION);
    hu_pb_write_uint(&p->w, FUNCTION_ID, id);
    hu_pb_write_uint(&p->w, FUNCTION_NAME, number);
    if (file) {
        hu_pb_write_uint(&p->w, FUNCTION_FILE, file);
        hu_pb_write_int(&p->w, FUNCTION_LINE, at.line);
    }
    hu_pb_write_close(&p->w, open);
    flush(p);
}

static int write_trace(writer *p, size_t index, hu_error *err)
{
    uint32_t frame, n_frames;

    p->part = &p->e->parts[index];
    if (hu_stacks_build(p->part, p->arena, &p->stacks, err) < 0)
        return err->code;
    n_frames = rank_frame(p) + 1;
    p->used = hu_arena_calloc(p->arena, n_frames, 1);
    if (!p->used)
        return hu_fail_memory(err);
    for (size_t i = 1; i < p->stacks.n; i++)
        if (p->stacks.at[i].host_ns > 0 || p->stacks.at[i].device_ns > 0)
            write_sample(p, i);
    for (frame = 0; frame < n_frames; frame++) {
        hu_str text;

        if (!p->used[frame])
            continue;
        text = frame + 1 == n_frames ? hu_track_rank(p->part->trace, (int64_t)index, p->arena)
                                     : hu_stacks_text(p->part, &p->stacks, frame);
        if (!text.p)
            return hu_fail_memory(err);
        write_frame(p, p->first + frame, text);
    }
    p->first += n_frames;
    return p->w.no_memory ? hu_fail_memory(err) : 0;
}

static int write(const hu_export *e, hu_out *out, hu_error *err)
{
    hu_arena *arena = hu_arena_new(); /* what outlives a trace */
    writer    p = {.e = e, .z = arena ? hu_gzip_out_open(out, arena, err) : NULL, .first = 1};
    int       rc = p.z ? 0 : arena ? err->code : hu_fail_memory(err);

    hu_pbw_init(&p.w, arena);
    if (rc == 0)
        write_head(&p);
    for (size_t i = 0; rc == 0 && i < e->n; i++) {
        p.arena = hu_arena_new();
        rc = p.arena ? write_trace(&p, i, err) : hu_fail_memory(err);
        hu_arena_free(p.arena);
    }
    if (rc == 0 && p.w.no_memory)
        rc = hu_fail_memory(err);
    if (rc == 0)
        hu_gzip_out_close(p.z);
    hu_arena_free(arena);
    return rc;
}

const hu_export_format hu_export_pprof = {
    .name = "pprof",
    .what = "gzipped profile.proto: host and device time",
    .suffix = ".pb.gz",
    .next = "open it with `go tool pprof -http=: FILE`",
    .is_binary = true,
    .write = write,
};
