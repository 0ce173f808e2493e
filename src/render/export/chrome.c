/* SPDX-License-Identifier: Apache-2.0
 * chrome.c - Chrome trace JSON with the members that Kineto writes: chrome://tracing, Perfetto, HTA and holdup
 * read it.
 *
 * One trace keeps everything that holdup knows of it, so that a report of the copy has the numbers of the original:
 * ids, times to the nanosecond, launch geometry, shapes as they were recorded.  Of several traces each process gets its
 * own number (numbering.h), and times are counted from the base of the first one.
 *
 * Forward-backward arrows are read by the time of their ends, so they are written only where each end is the first
 * operator that starts then; otherwise none is, and readers pair operators by sequence number as before.
 */
#include <math.h>

#include "base/json_check.h"
#include "base/number.h"
#include "render/export/export.h"
#include "base/json_out.h"
#include "render/export/numbering.h"
#include "render/export/slice_args.h"
#include "render/export/track_names.h"

enum {
    IS_JSON = 1,
    IS_NO_JSON = 2, /* of a string */
    IS_FIRST = 1,   /* of a slice: the first operator of its thread that starts then */
    SORT_TRACE = 100000,
    SORT_DEVICE = 1000,
};

typedef struct {
    hu_out               *out;
    hu_arena             *arena; /* of the trace at hand */
    hu_numbering          processes;
    const hu_export_part *part;
    hu_slices             s;
    const hu_track       *tracks;
    size_t                n_tracks;
    size_t                index;
    bool                  is_one_of_many, is_empty, has_flows, has_states;
    uint64_t              shift_ns; /* from the base of this trace to the base of the file */
    uint32_t             *pid;      /* by track; 0: as recorded */
    uint8_t              *json;     /* by string: IS_JSON, IS_NO_JSON, 0 not asked yet */
    uint8_t              *flags;    /* by slice */
} writer;

static void put(writer *w, const char *text)
{
    hu_out_text(w->out, text);
}

static void put_int(writer *w, const char *key, int64_t value)
{
    put(w, key);
    hu_out_i64(w->out, value);
}

/* Microseconds with three decimals, exactly. */
static void put_us(writer *w, const char *key, int64_t time_ns)
{
    const uint64_t size = time_ns < 0 ? 0 - (uint64_t)time_ns : (uint64_t)time_ns;
    char           text[HU_NUMBER_BYTES];
    size_t         n = hu_format_u64(text, size / 1000);

    text[n++] = '.';
    text[n++] = (char)('0' + size / 100 % 10);
    text[n++] = (char)('0' + size / 10 % 10);
    text[n++] = (char)('0' + size % 10);
    put(w, key);
    put(w, time_ns < 0 ? "-" : "");
    hu_out_write(w->out, text, n);
}

static void put_id(writer *w, const char *key, int64_t id, bool is_text)
{
    put(w, key);
    if (is_text)
        hu_json_quote(w->out, hu_trace_text(w->part->trace, (uint32_t)id));
    else
        hu_out_i64(w->out, id);
}

static void put_pid(writer *w, uint32_t track)
{
    if (w->pid[track])
        put_int(w, ", \"pid\": ", w->pid[track]);
    else
        put_id(w, ", \"pid\": ", w->tracks[track].pid, w->tracks[track].pid_is_text);
}

static void put_row(writer *w, uint32_t track)
{
    put_pid(w, track);
    put_id(w, ", \"tid\": ", w->tracks[track].tid, w->tracks[track].tid_is_text);
}

static void put_time(writer *w, int64_t time_ns)
{
    put_us(w, ", \"ts\": ", (int64_t)((uint64_t)time_ns + w->shift_ns));
}

static void open_event(writer *w, const char *phase)
{
    put(w, w->is_empty ? "\n  {" : ",\n  {");
    put(w, phase);
    w->is_empty = false;
}

/* A text that holds JSON stays JSON; any other becomes a string. */
static void put_json(writer *w, uint32_t text)
{
    const hu_str s = hu_trace_text(w->part->trace, text);

    if (!w->json[text])
        w->json[text] = s.n && (s.p[0] == '[' || s.p[0] == '{') && hu_json_is_value(s) ? IS_JSON : IS_NO_JSON;
    if (w->json[text] == IS_JSON)
        hu_out_str(w->out, s);
    else
        hu_json_quote(w->out, s);
}

static void put_arg(writer *w, const hu_arg *a)
{
    char number[HU_NUMBER_BYTES];

    put(w, "\"");
    put(w, hu_arg_name(a->id));
    put(w, "\": ");
    switch ((hu_arg_type)a->type) {
    case HU_ARG_INT:
        hu_out_i64(w->out, a->whole);
        break;
    case HU_ARG_REAL:
    case HU_ARG_FLOAT:
        hu_out_write(w->out, number, hu_format_f64(number, a->real, a->type == HU_ARG_FLOAT));
        break;
    case HU_ARG_BOOL:
        put(w, a->whole ? "true" : "false");
        break;
    case HU_ARG_TEXT:
        hu_json_quote(w->out, hu_trace_text(w->part->trace, a->text));
        break;
    case HU_ARG_LIST:
        put_json(w, a->text);
        break;
    case HU_ARG_WORD:
        hu_json_quote(w->out, hu_str_of(a->word));
        break;
    case HU_ARG_TRIPLE:
        put_int(w, "[", a->triple[0]);
        put_int(w, ", ", a->triple[1]);
        put_int(w, ", ", a->triple[2]);
        put(w, "]");
        break;
    }
}

/* A communication kernel without details was called that by its category. */
static const char *category(const writer *w, uint32_t slice)
{
    if (w->s.kind[slice] == HU_KIND_COLLECTIVE && w->s.detail[slice] == HU_NONE)
        return "collective_comm";
    return hu_arg_category(w->s.kind[slice]);
}

static void write_slice(writer *w, uint32_t slice)
{
    hu_arg       args[HU_ARG_COUNT];
    const size_t n = hu_slice_args(w->part->trace, &w->s, slice, args);

    open_event(w, "\"ph\": \"X\", \"cat\": \"");
    put(w, category(w, slice));
    put(w, "\", \"name\": ");
    hu_json_quote(w->out, hu_trace_text(w->part->trace, w->s.name[slice]));
    put_row(w, w->s.track[slice]);
    put_time(w, w->s.start_ns[slice]);
    put_us(w, ", \"dur\": ", w->s.dur_ns[slice]);
    for (size_t i = 0; i < n; i++) {
        put(w, i ? ", " : ", \"args\": {");
        put_arg(w, &args[i]);
    }
    put(w, n ? "}}" : "}");
}

static void write_flow(writer *w, const char *cat, uint32_t id, uint32_t slice, bool is_end)
{
    open_event(w, is_end ? "\"ph\": \"f\", \"bp\": \"e\", \"id\": " : "\"ph\": \"s\", \"id\": ");
    hu_out_i64(w->out, (int64_t)((w->is_one_of_many ? (uint64_t)w->index << 32 : 0) | id));
    put_row(w, w->s.track[slice]);
    put_time(w, w->s.start_ns[slice]);
    put(w, ", \"cat\": \"");
    put(w, cat);
    put(w, "\", \"name\": \"");
    put(w, cat);
    put(w, "\"}");
}

static bool keeps(const writer *w, uint32_t slice)
{
    return slice != HU_NONE && hu_export_keeps(w->part, &w->s, slice) &&
           !(w->has_states && w->s.kind[slice] == HU_KIND_CPU_WAIT); /* write_states() says it */
}

/* Is any of the work of this call kept? */
static bool has_work(const writer *w, uint32_t call)
{
    size_t          n;
    const uint32_t *work = w->s.correlation[call] ? hu_trace_work_of(w->part->trace, call, &n) : NULL;

    for (size_t i = 0; work && i < n; i++)
        if (keeps(w, work[i]))
            return true;
    return false;
}

static void write_flows(writer *w, uint32_t slice)
{
    const unsigned kind = w->s.kind[slice];
    uint32_t       from;

    if (hu_kind_in(kind, HU_KINDS_CALL) && has_work(w, slice))
        write_flow(w, "ac2g", w->s.correlation[slice], slice, false);
    if (hu_kind_in(kind, HU_KINDS_DEVICE) && keeps(w, hu_trace_launch_of(w->part->trace, slice)))
        write_flow(w, "ac2g", w->s.correlation[slice], slice, true);
    if (!w->has_flows || kind != HU_KIND_CPU_OP)
        return;
    from = hu_trace_forward_of(w->part->trace, slice);
    if (keeps(w, from)) {
        write_flow(w, "fwdbwd", slice + 1, from, false);
        write_flow(w, "fwdbwd", slice + 1, slice, true);
    }
}

/* Can each end of each forward-backward link be found by its thread and time? */
static bool flows_are_clear(writer *w)
{
    const uint32_t *order = hu_trace_order(w->part->trace);
    bool            any = false;

    for (size_t t = 0; t < w->n_tracks; t++) {
        int64_t before_ns = INT64_MIN;

        for (uint32_t i = w->tracks[t].first; i < w->tracks[t].first + w->tracks[t].count; i++) {
            if (w->s.kind[order[i]] != HU_KIND_CPU_OP)
                continue;
            if (w->s.start_ns[order[i]] != before_ns)
                w->flags[order[i]] |= IS_FIRST;
            before_ns = w->s.start_ns[order[i]];
        }
    }
    for (uint32_t i = 0; i < w->s.n; i++) {
        const uint32_t from = w->s.kind[i] == HU_KIND_CPU_OP ? hu_trace_forward_of(w->part->trace, i) : HU_NONE;

        if (from != HU_NONE && !(w->flags[i] & w->flags[from] & IS_FIRST))
            return false;
        any |= from != HU_NONE;
    }
    return any;
}

static bool is_inside(const writer *w, int64_t time_ns)
{
    return time_ns >= w->part->window.start_ns && time_ns < w->part->window.end_ns;
}

static void write_memory(writer *w)
{
    size_t                 n;
    const hu_memory_event *m = hu_trace_memory(w->part->trace, &n);

    for (size_t i = 0; i < n; i++) {
        if (!is_inside(w, m[i].time_ns))
            continue;
        open_event(w, "\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\"");
        put_row(w, m[i].track);
        put_time(w, m[i].time_ns);
        put_int(w, ", \"args\": {\"Bytes\": ", m[i].bytes);
        if (m[i].total_reserved >= 0)
            put_int(w, ", \"Total Reserved\": ", m[i].total_reserved);
        if (m[i].total_allocated >= 0)
            put_int(w, ", \"Total Allocated\": ", m[i].total_allocated);
        put(w, ", \"Addr\": ");
        hu_out_printf(w->out, "%llu", (unsigned long long)m[i].address);
        put_int(w, ", \"Device Id\": ", m[i].device);
        put_int(w, ", \"Device Type\": ", m[i].device_type);
        put(w, "}}");
    }
}

static void write_samples(writer *w)
{
    size_t           n;
    const hu_sample *samples = hu_trace_samples(w->part->trace, &n);

    for (size_t i = 0; i < n; i++) {
        char number[HU_NUMBER_BYTES];

        if (!is_inside(w, samples[i].time_ns) || !isfinite(samples[i].value))
            continue;
        open_event(w, "\"ph\": \"C\", \"name\": ");
        hu_json_quote(w->out, hu_trace_text(w->part->trace, w->tracks[samples[i].track].name));
        put_pid(w, samples[i].track);
        put_time(w, samples[i].time_ns);
        put(w, ", \"args\": {\"value\": ");
        hu_out_write(w->out, number, hu_format_f64(number, samples[i].value, false));
        put(w, "}}");
    }
}

/* States lie on a row of their own beside the thread, because slices do not nest in them. */
static void write_states(writer *w)
{
    static const char *const names[HU_THREAD_STATE_COUNT] = {[HU_THREAD_RUNNING] = "running",
                                                             [HU_THREAD_RUNNABLE] = "runnable",
                                                             [HU_THREAD_WAITING] = "waiting",
                                                             [HU_THREAD_UNKNOWN] = "unknown"};
    const hu_interval        window = w->part->window;
    size_t                   n;
    const hu_stretch        *s = hu_trace_stretches(w->part->trace, &n);

    for (size_t i = 0; i < n && !hu_out_has_failed(w->out); i++) {
        const int64_t from = s[i].start_ns > window.start_ns ? s[i].start_ns : window.start_ns;
        const int64_t to = s[i].end_ns < window.end_ns ? s[i].end_ns : window.end_ns;

        if (to <= from || w->tracks[s[i].track].tid_is_text)
            continue;
        open_event(w, "\"ph\": \"X\", \"cat\": \"thread_state\", \"name\": \"");
        put(w, names[s[i].state]);
        put(w, "\"");
        put_pid(w, s[i].track);
        put_int(w, ", \"tid\": \"", w->tracks[s[i].track].tid);
        put(w, " states\"");
        put_time(w, from);
        put_us(w, ", \"dur\": ", to - from);
        if (s[i].cpu)
            put_int(w, ", \"args\": {\"cpu\": ", s[i].cpu - 1);
        put(w, s[i].cpu ? "}}" : "}");
    }
}

/* names */

static void write_name(writer *w, const char *what, const char *key, uint32_t track, bool has_tid, hu_str value)
{
    open_event(w, "\"ph\": \"M\", \"name\": \"");
    put(w, what);
    put(w, "\"");
    if (has_tid)
        put_row(w, track);
    else
        put_pid(w, track);
    put(w, ", \"args\": {\"");
    put(w, key);
    put(w, "\": ");
    hu_json_quote(w->out, value);
    put(w, "}}");
}

static void write_sort_index(writer *w, const char *what, uint32_t track, bool has_tid, int64_t value)
{
    open_event(w, "\"ph\": \"M\", \"name\": \"");
    put(w, what);
    put(w, "\"");
    if (has_tid)
        put_row(w, track);
    else
        put_pid(w, track);
    put_int(w, ", \"args\": {\"sort_index\": ", value);
    put(w, "}}");
}

static bool write_process(writer *w, uint32_t track)
{
    const hu_track *t = &w->tracks[track];
    const bool      is_device = t->type == HU_TRACK_STREAM;
    const int64_t   device = t->device >= 0 && t->device < SORT_TRACE / 2 ? t->device : 0;
    char            label[8 + HU_NUMBER_BYTES] = "GPU ";

    if (w->is_one_of_many) {
        const hu_str name = hu_track_process_name(w->part->trace, t, (int64_t)w->index, w->arena);

        if (!name.p)
            return false;
        write_name(w, "process_name", "name", track, false, name);
    } else if (t->process) {
        write_name(w, "process_name", "name", track, false, hu_trace_text(w->part->trace, t->process));
    }
    if (is_device && t->device >= 0)
        write_name(w, "process_labels", "labels", track, false, (hu_str){label, 4 + hu_format_i64(label + 4, t->device)});
    write_sort_index(w, "process_sort_index", track, false,
                     (int64_t)w->index * SORT_TRACE + (is_device ? SORT_DEVICE + device : 0));
    return true;
}

/* Streams come first: where the profiler put a thread into the same row, that one's own name is the last word. */
static bool write_names(writer *w)
{
    hu_map seen;

    if (!hu_map_init(&seen, w->arena, 0))
        return false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t t = 0; t < w->n_tracks; t++) {
            const hu_track *track = &w->tracks[t];
            uint32_t       *place;
            char            name[8 + HU_NUMBER_BYTES] = "stream ";

            if ((track->type != HU_TRACK_STREAM) != pass)
                continue;
            place = hu_map_put(&seen, (uint64_t)track->pid << 1 ^ track->pid_is_text);
            if (!place || (*place == HU_MAP_NONE && !write_process(w, t)))
                return false;
            *place = 1;
            if (track->type == HU_TRACK_STREAM && track->stream >= 0) {
                write_name(w, "thread_name", "name", t, true, (hu_str){name, 7 + hu_format_i64(name + 7, track->stream)});
                write_sort_index(w, "thread_sort_index", t, true, track->stream);
            } else if (track->type != HU_TRACK_COUNTER && track->name) {
                write_name(w, "thread_name", "name", t, true, hu_trace_text(w->part->trace, track->name));
            }
        }
    }
    return true;
}

static bool begin_trace(writer *w)
{
    const size_t strings = hu_trace_string_count(w->part->trace);
    size_t       n_states;

    w->s = hu_trace_slices(w->part->trace);
    w->tracks = hu_trace_tracks(w->part->trace, &w->n_tracks);
    w->pid = hu_arena_calloc(w->arena, w->n_tracks + 1, sizeof *w->pid);
    w->json = hu_arena_calloc(w->arena, strings + 1, 1);
    w->flags = hu_arena_calloc(w->arena, w->s.n + 1, 1);
    if (!w->pid || !w->json || !w->flags)
        return false;
    for (size_t t = 0; w->is_one_of_many && t < w->n_tracks; t++) {
        w->pid[t] = hu_numbering_of(&w->processes, w->tracks[t].pid, w->tracks[t].pid_is_text);
        if (!w->pid[t])
            return false;
    }
    hu_trace_stretches(w->part->trace, &n_states);
    w->has_states = n_states > 0;
    w->has_flows = flows_are_clear(w);
    return true;
}

static bool write_trace(writer *w)
{
    if (!begin_trace(w) || !write_names(w))
        return false;
    for (uint32_t i = 0; i < w->s.n && !hu_out_has_failed(w->out); i++) {
        if (!keeps(w, i))
            continue;
        write_slice(w, i);
        write_flows(w, i);
    }
    write_states(w);
    write_memory(w);
    write_samples(w);
    return true;
}

static bool has_devices(const hu_trace *trace, const hu_metadata *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_equal(hu_trace_text(trace, m[i].key), HU_STR("deviceProperties")) ||
            hu_str_equal(hu_trace_text(trace, m[i].key), HU_STR("schemaVersion")))
            return true;
    return false;
}

static void write_number(hu_out *out, const char *key, int64_t value)
{
    if (value > 0)
        hu_out_printf(out, ", \"%s\": %lld", key, (long long)value);
}

/* Devices as Kineto describes them, and who recorded, where the file's own metadata do not: it came in another format. */
static void write_origin(hu_out *out, const hu_trace *trace)
{
    const hu_str     tool = hu_trace_get_info(trace)->tool;
    size_t           n;
    const hu_device *d = hu_trace_devices(trace, &n);

    if (tool.n) {
        hu_out_text(out, "\n\"holdup.source_tool\": ");
        hu_json_quote(out, tool);
        hu_out_text(out, ",");
    }
    if (!n)
        return;
    hu_out_text(out, "\n\"deviceProperties\": [");
    for (size_t i = 0; i < n; i++) {
        hu_out_printf(out, "%s{\"id\": %lld, \"name\": ", i ? ", " : "", (long long)d[i].id);
        hu_json_quote(out, hu_trace_text(trace, d[i].name));
        write_number(out, "totalGlobalMem", d[i].memory_bytes);
        write_number(out, "numSms", d[i].sm_count);
        write_number(out, "computeMajor", d[i].major);
        write_number(out, "computeMinor", d[i].minor);
        write_number(out, "warpSize", d[i].warp_size);
        write_number(out, "maxThreadsPerMultiprocessor", d[i].max_threads_per_sm);
        hu_out_text(out, "}");
    }
    hu_out_text(out, "],");
}

/* What the file says about itself; of several files only the base of their times. */
static void write_head(hu_out *out, const hu_export *e)
{
    size_t             n = 0;
    const hu_metadata *m = e->n == 1 ? hu_trace_metadata(e->parts[0].trace, &n) : NULL;

    hu_out_text(out, "{");
    if (e->n == 1 && !has_devices(e->parts[0].trace, m, n))
        write_origin(out, e->parts[0].trace);
    for (size_t i = 0; i < n; i++) {
        const hu_str value = hu_trace_text(e->parts[0].trace, m[i].value);

        hu_out_text(out, "\n");
        hu_json_quote(out, hu_trace_text(e->parts[0].trace, m[i].key));
        hu_out_text(out, ": ");
        if (hu_json_is_value(value))
            hu_out_str(out, value);
        else
            hu_json_quote(out, value);
        hu_out_text(out, ",");
    }
    if (e->n > 1)
        hu_out_printf(out, "\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %lld,",
                      (long long)hu_export_base_ns(e->parts[0].trace));
    hu_out_text(out, "\n\"traceEvents\": [");
}

static int write(const hu_export *e, hu_out *out, hu_error *err)
{
    hu_arena *arena = hu_arena_new(); /* what outlives a trace */
    writer    w = {.out = out, .is_one_of_many = e->n > 1, .is_empty = true};
    bool      ok = arena && hu_numbering_init(&w.processes, arena);

    if (ok)
        write_head(out, e);
    for (; ok && w.index < e->n; w.index++) {
        w.part = &e->parts[w.index];
        w.shift_ns = (uint64_t)hu_export_base_ns(w.part->trace) - (uint64_t)hu_export_base_ns(e->parts[0].trace);
        w.arena = hu_arena_new();
        ok = w.arena && hu_numbering_next_file(&w.processes) && write_trace(&w);
        hu_arena_free(w.arena);
    }
    hu_arena_free(arena);
    hu_out_text(out, "\n]}\n");
    return ok ? 0 : hu_fail_memory(err);
}

const hu_export_format hu_export_chrome = {
    .name = "chrome",
    .what = "JSON as Kineto writes it: Perfetto, HTA, holdup",
    .suffix = ".json",
    .next = "open it at https://ui.perfetto.dev or chrome://tracing",
    .is_binary = false,
    .write = write,
};
