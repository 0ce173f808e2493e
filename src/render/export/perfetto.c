/* SPDX-License-Identifier: Apache-2.0
 * perfetto.c - a trace as ui.perfetto.dev reads it: TracePackets with TrackEvents (docs/export.md).
 *
 * Each trace is one packet sequence: first its tracks, then lane by lane a BEGIN and an END for each slice, then its
 * counters.  The reader sorts by time and keeps the order of packets with equal times, and on a lane that order is the
 * nesting.  Traps:
 *  - names are interned; every CLEAR_BYTES the state is declared cleared and sent again, so that a file that was cut or
 *    split stays readable;
 *  - a flow may be ended once, so each GPU operation has one of its own, and its call begins them all; a flow
 *    whose end comes before its beginning would be an error of the file, and is left out;
 *  - times are unsigned.
 */
#include "base/number.h"
#include "render/export/perfetto_writer.h"
#include "render/export/slice_args.h"

enum {
    CLEAR_BYTES = 8 << 20,
    WHOLE_DURATION = HU_ARG_COUNT, /* the argument of a slice that is drawn shorter than it was */
    HAS_WORK = 1,
    HAS_BACKWARD = 2, /* bits of flow_ends */
};

/* interning */

static void intern(hu_perfetto *p, size_t *open, uint32_t field, uint64_t iid, hu_str text)
{
    size_t entry;

    if (!*open)
        *open = hu_pb_write_open(&p->w, HU_PT_PACKET_INTERNED);
    entry = hu_pb_write_open(&p->w, field);
    hu_pb_write_uint(&p->w, HU_PT_ENTRY_IID, iid);
    hu_pb_write_str(&p->w, HU_PT_ENTRY_TEXT, text);
    hu_pb_write_close(&p->w, entry);
}

/* Is it new to the reader?  It is not from now on. */
static bool is_new(const hu_perfetto *p, uint32_t *stamp)
{
    const bool now = *stamp != p->generation;

    *stamp = p->generation;
    return now;
}

static hu_str arg_name(unsigned id)
{
    return id == WHOLE_DURATION ? HU_STR("whole duration (ns)") : hu_str_of(hu_arg_name(id));
}

/* What the event refers to and the reader does not know yet. */
static void write_interned(hu_perfetto *p, uint32_t slice, const hu_arg *args, size_t n)
{
    const hu_trace *trace = p->part->trace;
    const uint32_t  name = p->s.name[slice];
    const unsigned  kind = p->s.kind[slice];
    size_t          open = 0;

    if (is_new(p, &p->kind_stamp[kind]))
        intern(p, &open, HU_PT_INTERNED_CATEGORY, kind + 1,
               hu_str_of(kind == HU_KIND_COLLECTIVE ? "collective_comm" : hu_arg_category(kind)));
    if (is_new(p, &p->name_stamp[name]))
        intern(p, &open, HU_PT_INTERNED_EVENT_NAME, (uint64_t)name + 1, hu_trace_text(trace, name));
    for (size_t i = 0; i < n; i++) {
        if (is_new(p, &p->arg_stamp[args[i].id]))
            intern(p, &open, HU_PT_INTERNED_NOTE_NAME, args[i].id + 1u, arg_name(args[i].id));
        if ((args[i].type == HU_ARG_TEXT || args[i].type == HU_ARG_LIST) && is_new(p, &p->value_stamp[args[i].text]))
            intern(p, &open, HU_PT_INTERNED_TEXT, (uint64_t)args[i].text + 1, hu_trace_text(trace, args[i].text));
    }
    if (open)
        hu_pb_write_close(&p->w, open);
}

static void write_triple(hu_perfetto *p, const uint32_t v[3])
{
    char   text[3 * HU_NUMBER_BYTES];
    size_t n = 0;

    for (size_t i = 0; i < 3; i++) {
        text[n++] = i ? ',' : '[';
        if (i)
            text[n++] = ' ';
        n += hu_format_u64(text + n, v[i]);
    }
    text[n++] = ']';
    hu_pb_write_str(&p->w, HU_PT_NOTE_TEXT, (hu_str){text, n});
}

static void write_annotation(hu_perfetto *p, const hu_arg *a)
{
    const size_t open = hu_pb_write_open(&p->w, HU_PT_EVENT_NOTE);

    hu_pb_write_uint(&p->w, HU_PT_NOTE_NAME_IID, a->id + 1u);
    switch ((hu_arg_type)a->type) {
    case HU_ARG_INT:
        hu_pb_write_int(&p->w, HU_PT_NOTE_INT, a->whole);
        break;
    case HU_ARG_REAL:
    case HU_ARG_FLOAT:
        hu_pb_write_double(&p->w, HU_PT_NOTE_DOUBLE, a->real);
        break;
    case HU_ARG_BOOL:
        hu_pb_write_uint(&p->w, HU_PT_NOTE_BOOL, a->whole != 0);
        break;
    case HU_ARG_TEXT:
    case HU_ARG_LIST:
        hu_pb_write_uint(&p->w, HU_PT_NOTE_TEXT_IID, (uint64_t)a->text + 1);
        break;
    case HU_ARG_WORD:
        hu_pb_write_str(&p->w, HU_PT_NOTE_TEXT, hu_str_of(a->word));
        break;
    case HU_ARG_TRIPLE:
        write_triple(p, a->triple);
        break;
    }
    hu_pb_write_close(&p->w, open);
}

/* flows */

static int64_t drawn_start(const hu_perfetto *p, uint32_t slice)
{
    const int64_t start = p->s.start_ns[slice];

    return start > p->part->window.start_ns ? start : p->part->window.start_ns;
}

/* The later slice may be pointed at by the earlier one: both are drawn, and time tells which is first. */
static bool can_flow(const hu_perfetto *p, uint32_t from, uint32_t to)
{
    return hu_export_keeps(p->part, &p->s, from) && hu_export_keeps(p->part, &p->s, to) &&
           drawn_start(p, from) < drawn_start(p, to);
}

/* What a piece of device work is pointed at from: its call, else its operator; HU_NONE. */
static uint32_t work_flows_from(const hu_perfetto *p, uint32_t slice)
{
    const uint32_t from = hu_kind_in(p->s.kind[slice], HU_KINDS_DEVICE) ? p->s.parent[slice] : HU_NONE;

    return from != HU_NONE && can_flow(p, from, slice) ? from : HU_NONE;
}

static uint32_t backward_flows_from(const hu_perfetto *p, uint32_t slice)
{
    const uint32_t from = p->s.kind[slice] == HU_KIND_CPU_OP ? hu_trace_forward_of(p->part->trace, slice) : HU_NONE;

    return from != HU_NONE && can_flow(p, from, slice) ? from : HU_NONE;
}

static bool link_backward(hu_perfetto *p, uint32_t from, uint32_t to)
{
    if (!p->first_backward) {
        p->first_backward = hu_arena_alloc(p->arena, p->s.n * sizeof *p->first_backward);
        p->next_backward = hu_arena_alloc(p->arena, p->s.n * sizeof *p->next_backward);
        if (!p->first_backward || !p->next_backward)
            return false;
        memset(p->first_backward, 0xff, p->s.n * sizeof *p->first_backward);
    }
    p->next_backward[to] = p->first_backward[from];
    p->first_backward[from] = to;
    return true;
}

static bool note_flows(hu_perfetto *p)
{
    p->flow_ends = hu_arena_calloc(p->arena, p->s.n + 1, 1);
    p->first_backward = p->next_backward = NULL;
    if (!p->flow_ends)
        return false;
    for (uint32_t i = 0; i < p->s.n; i++) {
        const uint32_t from = work_flows_from(p, i), forward = backward_flows_from(p, i);

        if (from != HU_NONE)
            p->flow_ends[from] |= HAS_WORK;
        if (forward == HU_NONE)
            continue;
        p->flow_ends[forward] |= HAS_BACKWARD;
        if (!link_backward(p, forward, i))
            return false;
    }
    return true;
}

/* Named after its end, which has one beginning. */
static uint64_t flow_id(const hu_perfetto *p, uint32_t end, bool is_backward)
{
    return (uint64_t)(p->index + 1) << 34 | (uint64_t)end << 1 | is_backward;
}

static void write_flows(hu_perfetto *p, uint32_t slice)
{
    if (p->flow_ends[slice] & HAS_WORK) {
        size_t          n;
        const uint32_t *work = hu_trace_work_of(p->part->trace, slice, &n);

        for (size_t i = 0; i < n; i++)
            if (can_flow(p, slice, work[i]))
                hu_pb_write_fixed64(&p->w, HU_PT_EVENT_FLOW, flow_id(p, work[i], false));
    }
    if (p->flow_ends[slice] & HAS_BACKWARD)
        for (uint32_t to = p->first_backward[slice]; to != HU_NONE; to = p->next_backward[to])
            hu_pb_write_fixed64(&p->w, HU_PT_EVENT_FLOW, flow_id(p, to, true));
    if (work_flows_from(p, slice) != HU_NONE)
        hu_pb_write_fixed64(&p->w, HU_PT_EVENT_FLOW_END, flow_id(p, slice, false));
    if (p->first_backward && backward_flows_from(p, slice) != HU_NONE)
        hu_pb_write_fixed64(&p->w, HU_PT_EVENT_FLOW_END, flow_id(p, slice, true));
}

/* events */

/* 0, or CLEARED when what was interned so far is to be forgotten. */
static unsigned clear_now(hu_perfetto *p)
{
    if (p->generation && p->written < CLEAR_BYTES)
        return 0;
    p->generation++;
    p->written = 0;
    return HU_PT_FLAG_CLEARED;
}

static void write_begin(hu_perfetto *p, uint64_t track, const hu_drawn *d)
{
    hu_arg         args[HU_ARG_COUNT + 1];
    size_t         n = hu_slice_args(p->part->trace, &p->s, d->slice, args), packet, event;
    const unsigned kind = p->s.kind[d->slice];

    if (d->end_ns - d->start_ns != p->s.dur_ns[d->slice])
        args[n++] = (hu_arg){.id = WHOLE_DURATION, .type = HU_ARG_INT, .whole = p->s.dur_ns[d->slice]};
    packet = hu_perfetto_open(p);
    hu_pb_write_uint(&p->w, HU_PT_PACKET_TIMESTAMP, hu_perfetto_time(p, d->start_ns));
    hu_pb_write_uint(&p->w, HU_PT_PACKET_FLAGS, HU_PT_FLAG_NEEDS_STATE | clear_now(p));
    write_interned(p, d->slice, args, n);
    event = hu_pb_write_open(&p->w, HU_PT_PACKET_EVENT);
    hu_pb_write_uint(&p->w, HU_PT_EVENT_TYPE, HU_PT_TYPE_BEGIN);
    hu_pb_write_uint(&p->w, HU_PT_EVENT_TRACK, track);
    hu_pb_write_uint(&p->w, HU_PT_EVENT_CATEGORY_IID, kind + 1);
    hu_pb_write_uint(&p->w, HU_PT_EVENT_NAME_IID, (uint64_t)p->s.name[d->slice] + 1);
    for (size_t i = 0; i < n; i++)
        write_annotation(p, &args[i]);
    write_flows(p, d->slice);
    hu_pb_write_close(&p->w, event);
    hu_perfetto_close(p, packet);
}

static void write_end(hu_perfetto *p, uint64_t track, int64_t time_ns)
{
    const size_t packet = hu_perfetto_open(p);
    size_t       event;

    hu_pb_write_uint(&p->w, HU_PT_PACKET_TIMESTAMP, hu_perfetto_time(p, time_ns));
    event = hu_pb_write_open(&p->w, HU_PT_PACKET_EVENT);
    hu_pb_write_uint(&p->w, HU_PT_EVENT_TYPE, HU_PT_TYPE_END);
    hu_pb_write_uint(&p->w, HU_PT_EVENT_TRACK, track);
    hu_pb_write_close(&p->w, event);
    hu_perfetto_close(p, packet);
}

static void write_lane(hu_perfetto *p, const hu_lane *lane, uint64_t track)
{
    hu_lane_walk walk = {.lane = lane, .top = HU_NONE};
    hu_bracket   b;

    while (!hu_out_has_failed(p->out) && hu_lane_next(&walk, &b)) {
        if (b.is_end)
            write_end(p, track, b.time_ns);
        else
            write_begin(p, track, b.drawn);
    }
}

static bool make_stamps(hu_perfetto *p)
{
    const size_t n = hu_trace_string_count(p->part->trace);

    p->name_stamp = hu_arena_calloc(p->arena, n + 1, sizeof *p->name_stamp);
    p->value_stamp = hu_arena_calloc(p->arena, n + 1, sizeof *p->value_stamp);
    p->arg_stamp = hu_arena_calloc(p->arena, HU_ARG_COUNT + 1, sizeof *p->arg_stamp);
    memset(p->kind_stamp, 0, sizeof p->kind_stamp);
    return p->name_stamp && p->value_stamp && p->arg_stamp;
}

static void write_extra(hu_perfetto *p, const char *key, int64_t value)
{
    char         text[HU_NUMBER_BYTES];
    const size_t extra = hu_pb_write_open(&p->w, HU_PT_GPU_EXTRA);

    hu_pb_write_str(&p->w, HU_PT_EXTRA_KEY, hu_str_of(key));
    hu_pb_write_str(&p->w, HU_PT_EXTRA_VALUE, (hu_str){text, hu_format_i64(text, value)});
    hu_pb_write_close(&p->w, extra);
}

/* What the devices are; of the first rank alone, for those of a job are alike. */
static void write_devices(hu_perfetto *p)
{
    size_t           n;
    const hu_device *d = hu_trace_devices(p->part->trace, &n);
    const size_t     packet = n ? hu_perfetto_open(p) : 0, info = n ? hu_pb_write_open(&p->w, HU_PT_PACKET_GPU_INFO) : 0;

    for (size_t i = 0; i < n; i++) {
        const size_t gpu = hu_pb_write_open(&p->w, HU_PT_GPU_INFO_GPU);

        hu_pb_write_str(&p->w, HU_PT_GPU_NAME, hu_trace_text(p->part->trace, d[i].name));
        write_extra(p, "id", d[i].id);
        write_extra(p, "memory_bytes", d[i].memory_bytes);
        write_extra(p, "sm_count", d[i].sm_count);
        write_extra(p, "compute_major", d[i].major);
        write_extra(p, "compute_minor", d[i].minor);
        write_extra(p, "warp_size", d[i].warp_size);
        write_extra(p, "max_threads_per_sm", d[i].max_threads_per_sm);
        hu_pb_write_close(&p->w, gpu);
    }
    if (n) {
        hu_pb_write_close(&p->w, info);
        hu_perfetto_close(p, packet);
    }
}

static int write_trace(hu_perfetto *p, const hu_export_part *part, hu_error *err)
{
    bool ok;

    p->part = part;
    p->s = hu_trace_slices(part->trace);
    p->generation = 0;
    p->devices.at = NULL;
    p->devices.n = p->devices.cap = 0;
    if (hu_lanes_build(part, p->arena, &p->lanes, err) < 0)
        return err->code;
    if (p->index == 0) {
        hu_perfetto_write_facts(p);
        write_devices(p);
    }
    ok = make_stamps(p) && note_flows(p) && hu_perfetto_write_tracks(p);
    for (size_t i = 0; ok && i < p->lanes.n; i++) {
        if (hu_perfetto_are_states(p, &p->lanes.at[i]))
            continue;
        write_lane(p, &p->lanes.at[i], p->lane_uuid[i]);
        ok = !p->w.no_memory;
    }
    return ok && hu_perfetto_write_states(p) && hu_perfetto_write_counters(p) ? 0 : hu_fail_memory(err);
}

/* The two clocks of the file tell the same, so that the viewer can show the time of day. */
static void write_clock(hu_perfetto *p, int64_t now_ns)
{
    const size_t packet = hu_perfetto_open(p);
    size_t       snapshot;

    hu_pb_write_uint(&p->w, HU_PT_PACKET_FIRST, 1);
    snapshot = hu_pb_write_open(&p->w, HU_PT_PACKET_CLOCK_SNAPSHOT);
    for (unsigned id = HU_PT_REALTIME; id <= HU_PT_BOOTTIME; id += HU_PT_BOOTTIME - HU_PT_REALTIME) {
        const size_t clock = hu_pb_write_open(&p->w, HU_PT_SNAPSHOT_CLOCK);

        hu_pb_write_uint(&p->w, HU_PT_CLOCK_ID, id);
        hu_pb_write_uint(&p->w, HU_PT_CLOCK_TIME, (uint64_t)now_ns);
        hu_pb_write_close(&p->w, clock);
    }
    hu_pb_write_close(&p->w, snapshot);
    hu_perfetto_close(p, packet);
}

static int write(const hu_export *e, hu_out *out, hu_error *err)
{
    hu_arena     *arena = hu_arena_new(); /* what outlives a trace */
    const int64_t origin_ns = hu_export_origin_ns(e);
    hu_perfetto   p = {.out = out, .is_one_of_many = e->n > 1, .shift_ns = origin_ns < 0 ? 0 - (uint64_t)origin_ns : 0};
    const bool    is_ready = arena && hu_numbering_init(&p.processes, arena) && hu_numbering_init(&p.threads, arena);
    int           rc = is_ready ? 0 : hu_fail_memory(err);

    hu_pbw_init(&p.w, arena);
    if (rc == 0 && e->n && hu_export_base_ns(e->parts[0].trace) && origin_ns > 0)
        write_clock(&p, origin_ns);
    for (; rc == 0 && p.index < e->n; p.index++) {
        p.arena = hu_arena_new();
        rc = p.arena && hu_numbering_next_file(&p.processes) && hu_numbering_next_file(&p.threads)
                 ? write_trace(&p, &e->parts[p.index], err)
                 : hu_fail_memory(err);
        hu_arena_free(p.arena);
    }
    hu_arena_free(arena);
    return rc;
}

int hu_perfetto_write(const hu_trace *trace, hu_out *out, hu_error *err)
{
    const hu_export_part part = hu_export_all(trace);

    return write(&(hu_export){.parts = &part, .n = 1}, out, err);
}

const hu_export_format hu_export_perfetto = {
    .name = "perfetto",
    .what = "tracks, slices, arrows, counters: ui.perfetto.dev",
    .suffix = ".pftrace",
    .next = "open it at https://ui.perfetto.dev",
    .is_binary = true,
    .write = write,
};
