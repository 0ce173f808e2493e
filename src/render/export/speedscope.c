/* SPDX-License-Identifier: Apache-2.0
 * speedscope.c - speedscope's file format: frames once, then a profile of brackets for each lane.
 *
 * Times are ns since the first slice, because JavaScript counts exactly only to 2^53.
 */
#include "render/export/lanes.h"
#include "base/json_out.h"
#include "render/export/source_line.h"
#include "render/export/track_names.h"

enum { UNUSED = 0 };

typedef struct {
    hu_out          *out;
    const hu_export *e;
    hu_arena        *arena; /* of the file */
    uint32_t       **frame; /* by trace, by string: 1 + frame; UNUSED */
    uint32_t         n_frames;
    int64_t          origin_ns;
    bool             is_empty; /* no profile yet */
} writer;

static void write_frame(writer *w, hu_str name)
{
    hu_source_line at;

    hu_out_text(w->out, w->n_frames ? ",\n{\"name\":" : "\n{\"name\":");
    hu_json_quote(w->out, name);
    if (hu_source_line_of(name, &at)) {
        hu_out_text(w->out, ",\"file\":");
        hu_json_quote(w->out, at.file);
        hu_out_text(w->out, ",\"line\":");
        hu_out_i64(w->out, at.line);
    }
    hu_out_text(w->out, "}");
    w->n_frames++;
}

static bool write_frames(writer *w)
{
    for (size_t k = 0; k < w->e->n; k++) {
        const hu_export_part *part = &w->e->parts[k];
        const hu_slices       s = hu_trace_slices(part->trace);

        w->frame[k] = hu_arena_calloc(w->arena, hu_trace_string_count(part->trace) + (size_t)1, sizeof **w->frame);
        if (!w->frame[k])
            return false;
        for (uint32_t i = 0; i < s.n; i++) {
            uint32_t *frame = &w->frame[k][s.name[i]];

            if (*frame != UNUSED || !hu_export_keeps(part, &s, i))
                continue;
            write_frame(w, hu_trace_text(part->trace, s.name[i]));
            *frame = w->n_frames;
        }
    }
    return true;
}

static uint64_t time_of(const writer *w, const hu_trace *trace, int64_t time_ns)
{
    return (uint64_t)(hu_export_base_ns(trace) + time_ns) - (uint64_t)w->origin_ns;
}

static void put_number(writer *w, const char *key, uint64_t value)
{
    hu_out_text(w->out, key);
    hu_out_i64(w->out, (int64_t)value);
}

static void write_events(writer *w, size_t index, const hu_lane *lane)
{
    const hu_trace *trace = w->e->parts[index].trace;
    const hu_slices s = hu_trace_slices(trace);
    hu_lane_walk    walk = {.lane = lane, .top = HU_NONE};
    hu_bracket      b;
    bool            is_first = true;

    while (hu_lane_next(&walk, &b)) {
        hu_out_text(w->out, is_first ? "" : ",");
        put_number(w, b.is_end ? "{\"type\":\"C\",\"frame\":" : "{\"type\":\"O\",\"frame\":",
                   w->frame[index][s.name[b.drawn->slice]] - 1);
        put_number(w, ",\"at\":", time_of(w, trace, b.time_ns));
        hu_out_text(w->out, "}");
        is_first = false;
    }
}

static int64_t latest_ns(const hu_lane *lane)
{
    int64_t last = lane->at[0].end_ns;

    for (size_t i = 1; i < lane->n; i++)
        last = lane->at[i].end_ns > last ? lane->at[i].end_ns : last;
    return last;
}

static bool write_profile(writer *w, size_t index, const hu_lane *lane, hu_arena *arena)
{
    const hu_trace *trace = w->e->parts[index].trace;
    size_t          n;
    const hu_track *track = &hu_trace_tracks(trace, &n)[lane->track];
    const hu_str    rank = hu_track_rank(trace, w->e->n > 1 ? (int64_t)index : -1, arena);
    const hu_str    track_name = hu_track_name(trace, track, arena);
    hu_str          name;

    if (!rank.p || !track_name.p)
        return false;
    name = hu_track_join(arena,
                         (hu_str[]){rank, rank.n ? HU_STR(" · ") : HU_STR(""), track_name,
                                    lane->number ? HU_STR(" · overlapping") : HU_STR("")},
                         4);
    if (!name.p)
        return false;
    hu_out_text(w->out, w->is_empty ? "\n{\"type\":\"evented\",\"name\":" : ",\n{\"type\":\"evented\",\"name\":");
    hu_json_quote(w->out, name);
    hu_out_text(w->out, ",\"unit\":\"nanoseconds\"");
    put_number(w, ",\"startValue\":", time_of(w, trace, lane->at[0].start_ns));
    put_number(w, ",\"endValue\":", time_of(w, trace, latest_ns(lane)));
    hu_out_text(w->out, ",\"events\":[");
    write_events(w, index, lane);
    hu_out_text(w->out, "]}");
    w->is_empty = false;
    return true;
}

static int write_trace(writer *w, size_t index, hu_arena *arena, hu_error *err)
{
    hu_lanes lanes;

    if (hu_lanes_build(&w->e->parts[index], arena, &lanes, err) < 0)
        return err->code;
    for (size_t i = 0; i < lanes.n; i++)
        if (!write_profile(w, index, &lanes.at[i], arena))
            return hu_fail_memory(err);
    return 0;
}

static int write_all(writer *w, hu_error *err)
{
    int rc = 0;

    hu_out_text(w->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":"
                        "\"holdup " HU_VERSION "\",\"name\":");
    hu_json_quote(w->out, w->e->n ? hu_trace_get_info(w->e->parts[0].trace)->file : HU_STR(""));
    hu_out_text(w->out, ",\n\"shared\":{\"frames\":[");
    if (!write_frames(w))
        return hu_fail_memory(err);
    hu_out_text(w->out, "\n]},\n\"profiles\":[");
    for (size_t i = 0; rc == 0 && i < w->e->n; i++) {
        hu_arena *arena = hu_arena_new();

        rc = arena ? write_trace(w, i, arena, err) : hu_fail_memory(err);
        hu_arena_free(arena);
    }
    hu_out_text(w->out, "\n]}\n");
    return rc;
}

static int write(const hu_export *e, hu_out *out, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    writer    w = {.out = out, .e = e, .arena = arena, .origin_ns = hu_export_origin_ns(e), .is_empty = true};
    int       rc;

    w.frame = arena ? hu_arena_calloc(arena, e->n + 1, sizeof *w.frame) : NULL;
    rc = w.frame ? write_all(&w, err) : hu_fail_memory(err);
    hu_arena_free(arena);
    return rc;
}

const hu_export_format hu_export_speedscope = {
    .name = "speedscope",
    .what = "one profile per thread and stream",
    .suffix = ".speedscope.json",
    .next = "open it at https://www.speedscope.app",
    .is_binary = false,
    .write = write,
};
