/* SPDX-License-Identifier: Apache-2.0
 * perfetto_tracks.c - which row an event lies on, and which end belongs to which beginning.
 *
 * A track is a thread, a process, a counter, or just a name below another track; its events name it by uuid.  The row
 * of a track is fixed by what is known at its first event: a declaration that comes later still gives the name.
 *
 * Beginnings and ends nest on each track by time, not by their place in the file, where packets of several writers
 * alternate.  So both are kept as edges, 16 bytes each, and paired once, when all are there.
 */
#include "base/number.h"
#include "ingest/perfetto_reader.h"

enum { MOST_ANCESTORS = 32 };

static int64_t trailing_number(hu_str s)
{
    size_t  from = s.n;
    int64_t number;

    while (from && s.p[from - 1] >= '0' && s.p[from - 1] <= '9')
        from--;
    return hu_parse_i64((hu_str){s.p + from, s.n - from}, &number) ? number : -1;
}

uint32_t perfetto_tracks_find(perfetto_reader *r, uint64_t uuid)
{
    uint32_t *place = hu_map_put(&r->track_of, uuid);

    if (place && *place == HU_MAP_NONE &&
        hu_vec_push(r->arena, &r->tracks, ((perfetto_track){.uuid = uuid, .unit = 1, .name = HU_STR("")})))
        *place = (uint32_t)r->tracks.n - 1;
    if (!place || *place == HU_MAP_NONE) {
        perfetto_no_memory(r);
        return UINT32_MAX;
    }
    return *place;
}

static hu_str keep(perfetto_reader *r, hu_str text)
{
    return hu_builder_text(r->b, hu_builder_intern(r->b, text));
}

/* An argument, whole, as a line of its own; what has no room any more is left out. */
static size_t add_argument(char *to, size_t n, size_t room, hu_str argument)
{
    if (argument.n + 1 > room - n)
        return n;
    for (size_t i = 0; i < argument.n; i++)
        to[n++] = argument.p[i] == '\n' ? ' ' : argument.p[i];
    to[n++] = '\n';
    return n;
}

static void declare_process(perfetto_reader *r, perfetto_track *t, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            name = HU_STR("");
    char              command[1024];
    size_t            n = 0;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_PROCESS_COMMAND) {
            n = add_argument(command, n, sizeof command, f.bytes);
        } else if (f.number == HU_PT_PROCESS_PID) {
            t->pid = (int32_t)f.value;
            t->has_pid = true;
        } else if (f.number == HU_PT_PROCESS_NAME) {
            name = f.bytes;
        }
    }
    if (t->has_pid && name.n)
        hu_builder_name_process(r->b, (hu_builder_id){t->pid, false}, hu_builder_intern(r->b, name));
    if (t->has_pid && n)
        hu_builder_describe_process(r->b, t->pid, 0, hu_builder_intern(r->b, (hu_str){command, n}));
}

static void declare_thread(perfetto_reader *r, perfetto_track *t, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            name = t->name;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_THREAD_PID) {
            t->pid = (int32_t)f.value;
            t->has_pid = true;
        } else if (f.number == HU_PT_THREAD_TID) {
            t->tid = (int64_t)f.value;
            t->has_tid = true;
        } else if (f.number == HU_PT_THREAD_NAME && f.bytes.n) {
            name = f.bytes;
        }
    }
    if (t->has_pid && t->has_tid && name.n)
        hu_builder_name_thread(r->b, (hu_builder_id){t->pid, false}, (hu_builder_id){t->tid, false},
                               hu_builder_intern(r->b, name));
}

static void declare_counter(perfetto_track *t, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_COUNTER_MULTIPLIER && f.value)
            t->unit = (double)(int64_t)f.value;
        else if (f.number == HU_PT_COUNTER_INCREMENTAL)
            t->is_delta = f.value != 0;
    }
}

static hu_builder_id id_of(perfetto_reader *r, const chrome_value *v)
{
    if (v->type == CHROME_INT)
        return (hu_builder_id){v->number, false};
    return (hu_builder_id){hu_builder_intern(r->b, (hu_str){v->p, v->n}), true};
}

/* A row that is no thread is called what its track is called. */
static void name_row(perfetto_reader *r, const perfetto_track *t)
{
    if (!t->has_tid && t->name.n)
        hu_builder_name_thread(r->b, id_of(r, &t->row[0]), id_of(r, &t->row[1]), hu_builder_intern(r->b, t->name));
}

void perfetto_tracks_declare(perfetto_reader *r, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f, process = {0}, thread = {0}, counter = {0};
    uint64_t          uuid = 0, parent = 0;
    hu_str            name = HU_STR("");
    bool              has_parent = false;
    perfetto_track   *t;
    uint32_t          at;

    while (hu_protobuf_next(&m, &f)) {
        switch (f.number) {
        case HU_PT_TRACK_UUID:
            uuid = f.value;
            break;
        case HU_PT_TRACK_NAME:
        case HU_PT_TRACK_STATIC_NAME:
            name = f.bytes;
            break;
        case HU_PT_TRACK_PARENT:
            parent = f.value;
            has_parent = true;
            break;
        case HU_PT_TRACK_PROCESS:
            process = f;
            break;
        case HU_PT_TRACK_THREAD:
            thread = f;
            break;
        case HU_PT_TRACK_COUNTER:
            counter = f;
            break;
        default:
            break;
        }
    }
    if (m.bad) {
        perfetto_malformed(r);
        return;
    }
    at = perfetto_tracks_find(r, uuid);
    if (at == UINT32_MAX)
        return;
    t = &r->tracks.at[at];
    t->is_declared = true;
    if (name.n)
        t->name = keep(r, name);
    if (has_parent) {
        t->parent = parent;
        t->has_parent = true;
    }
    if (process.number)
        declare_process(r, t, process.bytes);
    if (thread.number)
        declare_thread(r, t, thread.bytes);
    if (counter.number)
        declare_counter(t, counter.bytes);
    if (t->is_used)
        name_row(r, t);
}

/* The next track outwards, or UINT32_MAX. */
static uint32_t parent_of(const perfetto_reader *r, uint32_t track)
{
    const perfetto_track *t = &r->tracks.at[track];

    return t->has_parent ? hu_map_get(&r->track_of, t->parent) : UINT32_MAX;
}

static const perfetto_track *outermost(const perfetto_reader *r, uint32_t track)
{
    for (int i = 0; i < MOST_ANCESTORS; i++) {
        const uint32_t up = parent_of(r, track);

        if (up == UINT32_MAX || up == track || !r->tracks.at[up].is_declared)
            break;
        track = up;
    }
    return &r->tracks.at[track];
}

static chrome_value int_value(int64_t number)
{
    return (chrome_value){.p = "", .type = CHROME_INT, .number = number};
}

static chrome_value text_value(hu_str text)
{
    return (chrome_value){.p = text.p, .n = (uint32_t)text.n, .type = CHROME_STRING};
}

/* A name is not unique among tracks, and a row must be: two tracks on one row would not nest. */
static chrome_value own_text(perfetto_reader *r, const perfetto_track *t)
{
    char   number[HU_NUMBER_BYTES], text[256];
    size_t n = t->name.n < 200 ? t->name.n : 200, digits = hu_format_u64(number, t->uuid);

    if (n == 0)
        memcpy(text, "track", n = 5);
    else
        memcpy(text, t->name.p, n);
    text[n++] = ' ';
    text[n++] = '#';
    memcpy(text + n, number, digits);
    return text_value(keep(r, (hu_str){text, n + digits}));
}

static void fix_row(perfetto_reader *r, uint32_t track)
{
    perfetto_track       *t = &r->tracks.at[track];
    const perfetto_track *top = outermost(r, track);
    bool                  has_pid = t->has_pid;
    int64_t               pid = t->pid;
    uint32_t              up = track;

    for (int i = 0; i < MOST_ANCESTORS && !has_pid && (up = parent_of(r, up)) != UINT32_MAX; i++) {
        has_pid = r->tracks.at[up].has_pid;
        pid = r->tracks.at[up].pid;
    }
    t->is_used = true;
    /* a stream below its device, as `holdup export` writes it; else whatever tells rows apart */
    if (!has_pid && top != t && hu_str_starts(top->name, HU_STR("GPU ")) && hu_str_starts(t->name, HU_STR("stream "))) {
        t->row[0] = int_value(trailing_number(top->name));
        t->row[1] = int_value(trailing_number(t->name));
    } else {
        t->row[0] = has_pid ? int_value(pid) : top->name.n ? text_value(top->name) : int_value(0);
        t->row[1] = t->has_tid ? int_value(t->tid) : own_text(r, t);
    }
    name_row(r, t);
}

const chrome_value *perfetto_tracks_row(perfetto_reader *r, uint32_t track)
{
    if (!r->tracks.at[track].is_used)
        fix_row(r, track);
    return r->tracks.at[track].row;
}

chrome_value perfetto_tracks_thread(perfetto_reader *r, uint32_t track)
{
    uint32_t up = track;

    for (int i = 0; i < MOST_ANCESTORS && up != UINT32_MAX; i++) {
        if (r->tracks.at[up].has_tid)
            return int_value(r->tracks.at[up].tid);
        up = parent_of(r, up);
    }
    return perfetto_tracks_row(r, track)[1];
}

void perfetto_tracks_edge(perfetto_reader *r, uint32_t track, int64_t time_ns, uint32_t slice)
{
    const int64_t        most = hu_input_limits(r->chrome.in)->events;
    const perfetto_edge *last = r->edges.n ? &r->edges.at[r->edges.n - 1] : NULL;

    /* our recorder writes a call's end behind its beginning; what others mean, the order of time tells at the end */
    if (r->is_ours && slice == PERFETTO_END && last && last->track == track && last->slice < PERFETTO_LOST &&
        last->time_ns <= time_ns) {
        hu_builder_set_end(r->b, last->slice, time_ns);
        r->edges.n--;
        return;
    }
    if ((int64_t)r->edges.n / 2 > most)
        hu_builder_fail(r->b, HU_ELIMIT, r->offset,
                        "more events than the limit; raise --limit events=N, or record fewer steps");
    else if (!hu_vec_push(r->arena, &r->edges, ((perfetto_edge){time_ns, track, slice})))
        perfetto_no_memory(r);
}

/* By time; equal times stay as they are in the file.  Merges ordered runs, so an ordered track costs a look. */
static void sort_edges(perfetto_edge *edges, size_t n, perfetto_edge *spare)
{
    while (n) {
        size_t out = 0;

        for (size_t from = 0; from < n;) {
            size_t mid = from + 1, end, a = from, b;

            while (mid < n && edges[mid].time_ns >= edges[mid - 1].time_ns)
                mid++;
            if (from == 0 && mid == n)
                return;
            for (end = mid < n ? mid + 1 : mid; end < n && edges[end].time_ns >= edges[end - 1].time_ns;)
                end++;
            for (b = mid; a < mid || b < end;)
                spare[out++] = b >= end || (a < mid && edges[a].time_ns <= edges[b].time_ns) ? edges[a++] : edges[b++];
            from = end;
        }
        memcpy(edges, spare, n * sizeof *edges);
    }
}

static void pair(perfetto_reader *r, const perfetto_edge *edges, size_t n, uint32_t *open)
{
    hu_quality *q = hu_builder_quality(r->b);
    size_t      depth = 0;

    for (size_t i = 0; i < n; i++) {
        if (edges[i].slice != PERFETTO_END)
            open[depth++] = edges[i].slice;
        else if (depth == 0)
            hu_quality_count(q, HU_REASON_UNMATCHED_END, 0);
        else if (open[--depth] != PERFETTO_LOST)
            hu_builder_set_end(r->b, open[depth], edges[i].time_ns);
    }
    while (depth)
        if (open[--depth] != PERFETTO_LOST)
            hu_quality_count(q, HU_REASON_UNMATCHED_BEGIN, 0);
}

void perfetto_tracks_finish(perfetto_reader *r)
{
    const size_t   n = r->edges.n;
    size_t        *first = hu_arena_calloc(r->arena, r->tracks.n + 2, sizeof *first);
    perfetto_edge *sorted = hu_arena_calloc(r->arena, n + 1, sizeof *sorted);
    uint32_t      *open = hu_arena_calloc(r->arena, n + 1, sizeof *open);

    if (!first || !sorted || !open) {
        perfetto_no_memory(r);
        return;
    }
    for (size_t i = 0; i < n; i++)
        first[r->edges.at[i].track + 2]++;
    for (size_t t = 2; t < r->tracks.n + 2; t++)
        first[t] += first[t - 1];
    for (size_t i = 0; i < n; i++)
        sorted[first[r->edges.at[i].track + 1]++] = r->edges.at[i];
    for (size_t t = 0; t < r->tracks.n; t++) {
        sort_edges(sorted + first[t], first[t + 1] - first[t], r->edges.at);
        pair(r, sorted + first[t], first[t + 1] - first[t], open);
    }
}
