/* SPDX-License-Identifier: Apache-2.0
 * slices_csv.c - one row for each slice, as RFC 4180 writes it.
 *
 * A spreadsheet keeps 15 digits of a number, so times are counted from the first slice.
 */
#include "base/csv_text.h"
#include "render/export/export.h"
#include "render/export/slice_args.h"
#include "render/export/track_names.h"

/* What the row has beyond its time, taken from its arguments. */
static const hu_arg_id columns[] = {HU_ARG_DEVICE, HU_ARG_STREAM, HU_ARG_CORRELATION, HU_ARG_EXTERNAL_ID, HU_ARG_BYTES,
                                    HU_ARG_GRID,   HU_ARG_BLOCK,  HU_ARG_DIMS,        HU_ARG_TYPES};
static const char      head[] = "rank,slice,name,kind,process,track,start_ns,dur_ns,parent,"
                                "device,stream,correlation,external_id,bytes,grid,block,input_dims,input_types\r\n";

static void write_arg(hu_out *out, const hu_trace *trace, const hu_arg *a)
{
    switch ((hu_arg_type)a->type) {
    case HU_ARG_TEXT:
    case HU_ARG_LIST:
        hu_csv_text(out, hu_trace_text(trace, a->text));
        return;
    case HU_ARG_TRIPLE:
        hu_out_printf(out, "%u x %u x %u", a->triple[0], a->triple[1], a->triple[2]);
        return;
    case HU_ARG_INT:
        if (a->whole >= 0) /* a device or stream that nobody knows is -1: absent is empty */
            hu_out_i64(out, a->whole);
        return;
    case HU_ARG_REAL:
    case HU_ARG_FLOAT:
    case HU_ARG_BOOL:
    case HU_ARG_WORD:
        return; /* no column is one */
    }
}

static void write_args(hu_out *out, const hu_trace *trace, const hu_slices *s, uint32_t slice)
{
    hu_arg       args[HU_ARG_COUNT];
    const size_t n = hu_slice_args(trace, s, slice, args);

    for (size_t c = 0; c < HU_COUNT(columns); c++) {
        hu_out_text(out, ",");
        for (size_t i = 0; i < n; i++)
            if (args[i].id == columns[c])
                write_arg(out, trace, &args[i]);
    }
    hu_out_text(out, "\r\n");
}

typedef struct {
    hu_str process, track;
} row_names;

static const row_names *name_tracks(const hu_trace *trace, hu_arena *arena)
{
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(trace, &n);
    row_names      *names = hu_arena_alloc(arena, (n + 1) * sizeof *names);

    for (size_t t = 0; names && t < n; t++) {
        names[t].process = hu_track_id(trace, tracks[t].pid, tracks[t].pid_is_text, arena);
        names[t].track = hu_track_name(trace, &tracks[t], arena);
        if (!names[t].process.p || !names[t].track.p)
            return NULL;
    }
    return names;
}

static bool write_trace(const hu_export *e, size_t index, int64_t origin_ns, hu_arena *arena, hu_out *out)
{
    const hu_export_part *part = &e->parts[index];
    const hu_trace       *trace = part->trace;
    const hu_slices       s = hu_trace_slices(trace);
    const row_names      *names = name_tracks(trace, arena);
    const int64_t         rank = hu_trace_get_info(trace)->rank;

    for (uint32_t i = 0; names && i < s.n; i++) {
        if (!hu_export_keeps(part, &s, i))
            continue;
        hu_out_i64(out, rank >= 0 ? rank : (int64_t)index);
        hu_out_text(out, ",");
        hu_out_i64(out, i);
        hu_out_text(out, ",");
        hu_csv_text(out, hu_trace_text(trace, s.name[i]));
        hu_out_text(out, ",");
        hu_out_text(out, hu_kind_name(s.kind[i]));
        hu_out_text(out, ",");
        hu_csv_text(out, names[s.track[i]].process);
        hu_out_text(out, ",");
        hu_csv_text(out, names[s.track[i]].track);
        hu_out_text(out, ",");
        hu_out_i64(out, (int64_t)((uint64_t)(hu_export_base_ns(trace) + s.start_ns[i]) - (uint64_t)origin_ns));
        hu_out_text(out, ",");
        hu_out_i64(out, s.dur_ns[i]);
        hu_out_text(out, ",");
        if (s.parent[i] != HU_NONE)
            hu_out_i64(out, s.parent[i]);
        write_args(out, trace, &s, i);
    }
    return names != NULL;
}

static int write(const hu_export *e, hu_out *out, hu_error *err)
{
    const int64_t origin_ns = hu_export_origin_ns(e);
    bool          ok = true;

    hu_out_text(out, head);
    for (size_t i = 0; ok && i < e->n; i++) {
        hu_arena *arena = hu_arena_new();

        ok = arena && write_trace(e, i, origin_ns, arena, out);
        hu_arena_free(arena);
    }
    return ok ? 0 : hu_fail_memory(err);
}

const hu_export_format hu_export_csv = {
    .name = "csv",
    .what = "one row per slice, for data frames",
    .suffix = ".csv",
    .next = "times are ns since the first slice",
    .is_binary = false,
    .write = write,
};
