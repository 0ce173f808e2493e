/* SPDX-License-Identifier: Apache-2.0
 * perfetto_tracks.c - what is drawn inside of what.
 *
 *     process                 ProcessDescriptor: each host process of the trace
 *       thread                ThreadDescriptor; lanes beyond the first are rows below it
 *       GPU 0 · its name      a row; the device's properties are its description
 *         GPU 0 / stream 7    a row for each stream; further lanes have the same name, which the viewer merges
 *         GPU 0 / stream 7 · ranges     what the profiler drew over it
 *       other rows            the profiler's own
 *
 * Perfetto knows processes and threads by 32-bit numbers that are unique in the file (numbering.h), and 0 is its own.
 */
#include "base/number.h"
#include "render/export/perfetto_writer.h"
#include "render/export/track_names.h"
#include "base/units.h"

typedef struct {
    hu_perfetto    *p;
    const hu_trace *trace;
    const hu_track *tracks;
    size_t          n_tracks;
    hu_map          process_of; /* pid number -> 1 + its place in process_uuid */
    HU_VEC(uint64_t) process_uuid;
    hu_map   stream_at;   /* process and row of a stream -> its track */
    hu_map   device_at;   /* device -> place in p->devices */
    hu_map   thread_uuid; /* track -> uuid of its first lane, in the low 32 bits that we count in */
    uint32_t main_pid;
} work;

typedef struct {
    size_t packet, descriptor;
} nest;

static nest open_descriptor(hu_perfetto *p, uint64_t uuid, uint64_t parent)
{
    nest at = {hu_perfetto_open(p), 0};

    at.descriptor = hu_pb_write_open(&p->w, HU_PT_PACKET_TRACK);
    hu_pb_write_uint(&p->w, HU_PT_TRACK_UUID, uuid);
    if (parent)
        hu_pb_write_uint(&p->w, HU_PT_TRACK_PARENT, parent);
    return at;
}

static void close_descriptor(hu_perfetto *p, nest at)
{
    hu_pb_write_close(&p->w, at.descriptor);
    hu_perfetto_close(p, at.packet);
}

/* A row that is no thread: `rank` orders it among its siblings. */
static void write_row(hu_perfetto *p, uint64_t uuid, uint64_t parent, hu_str name, int64_t rank)
{
    const nest at = open_descriptor(p, uuid, parent);

    hu_pb_write_str(&p->w, HU_PT_TRACK_NAME, name);
    hu_pb_write_int(&p->w, HU_PT_TRACK_RANK, rank);
    hu_pb_write_uint(&p->w, HU_PT_TRACK_MERGE, HU_PT_MERGE_BY_NAME);
    close_descriptor(p, at);
}

/* The track of a process; 0 when there is no memory.  `track` is NULL for one that the trace does not name. */
static uint64_t write_process(work *w, const hu_track *track, uint32_t pid)
{
    hu_perfetto  *p = w->p;
    const hu_str  host = hu_trace_get_info(w->trace)->host;
    const int64_t rank = hu_trace_get_info(w->trace)->rank;
    const hu_str  name = hu_track_process_name(w->trace, track, p->is_one_of_many ? (int64_t)p->index : -1, p->arena);
    uint32_t     *place = hu_map_put(&w->process_of, pid);
    nest          at;
    size_t        open;

    if (!name.p || !place || !hu_vec_push(p->arena, &w->process_uuid, ++p->last_uuid))
        return 0;
    *place = (uint32_t)w->process_uuid.n;
    at = open_descriptor(p, p->last_uuid, 0);
    open = hu_pb_write_open(&p->w, HU_PT_TRACK_PROCESS);
    hu_pb_write_uint(&p->w, HU_PT_PROCESS_PID, pid);
    hu_pb_write_int(&p->w, HU_PT_PROCESS_SORT, rank >= 0 && rank < INT32_MAX ? rank : (int64_t)p->index);
    hu_pb_write_str(&p->w, HU_PT_PROCESS_NAME, name);
    if (host.n)
        hu_pb_write_str(&p->w, HU_PT_PROCESS_LABEL, host);
    hu_pb_write_close(&p->w, open);
    hu_pb_write_uint(&p->w, HU_PT_TRACK_ORDERING, HU_PT_ORDERING_EXPLICIT);
    close_descriptor(p, at);
    return p->last_uuid;
}

/* The process with most slices on its threads holds what belongs to no thread. */
static bool write_processes(work *w)
{
    hu_perfetto    *p = w->p;
    const hu_track *busiest = NULL;

    for (size_t t = 0; t < w->n_tracks; t++)
        if (w->tracks[t].type == HU_TRACK_HOST && w->tracks[t].count > (busiest ? busiest->count : 0))
            busiest = &w->tracks[t];
    w->main_pid = busiest ? hu_numbering_of(&p->processes, busiest->pid, busiest->pid_is_text)
                          : hu_numbering_make_up(&p->processes);
    p->main_process = w->main_pid ? write_process(w, busiest, w->main_pid) : 0;
    return p->main_process != 0;
}

/* The process of a thread, which is written when it comes first. */
static uint64_t process_of(work *w, const hu_track *track, uint32_t *pid)
{
    uint32_t place;

    *pid = hu_numbering_of(&w->p->processes, track->pid, track->pid_is_text);
    if (*pid == 0)
        return 0;
    place = hu_map_get(&w->process_of, *pid);
    return place == HU_MAP_NONE ? write_process(w, track, *pid) : w->process_uuid.at[place - 1];
}

static hu_str describe(work *w, const hu_device *d)
{
    char   memory[HU_UNIT_BYTES], units[HU_NUMBER_BYTES], major[HU_NUMBER_BYTES], minor[HU_NUMBER_BYTES];
    hu_str pieces[] = {hu_trace_text(w->trace, d->name),
                       HU_STR("\nmultiprocessors: "),
                       {units, hu_format_i64(units, d->sm_count)},
                       HU_STR("\nmemory: "),
                       {memory, hu_units_bytes(memory, (double)d->memory_bytes)},
                       HU_STR("\ncompute capability: "),
                       {major, hu_format_i64(major, d->major)},
                       HU_STR("."),
                       {minor, hu_format_i64(minor, d->minor)}};

    return hu_track_join(w->p->arena, pieces, HU_COUNT(pieces));
}

/* The row of a device; 0 when there is no memory. */
static uint64_t device_of(work *w, int64_t id)
{
    hu_perfetto     *p = w->p;
    uint32_t        *place = hu_map_put(&w->device_at, (uint64_t)id);
    const hu_device *d = hu_trace_device(w->trace, id);
    char             number[HU_NUMBER_BYTES];
    const hu_str     shown = id < 0 ? HU_STR("?") : (hu_str){number, hu_format_i64(number, id)};
    hu_str           name;
    nest             at;

    if (!place)
        return 0;
    if (*place != HU_MAP_NONE)
        return p->devices.at[*place].uuid;
    *place = (uint32_t)p->devices.n;
    name = hu_track_join(p->arena,
                         (hu_str[]){HU_STR("GPU "), shown, d && d->name ? HU_STR(" · ") : HU_STR(""),
                                    d ? hu_trace_text(w->trace, d->name) : HU_STR("")},
                         4);
    if (!name.p || !hu_vec_push(p->arena, &p->devices, ((hu_perfetto_device){id, ++p->last_uuid})))
        return 0;
    at = open_descriptor(p, p->last_uuid, p->main_process);
    hu_pb_write_str(&p->w, HU_PT_TRACK_NAME, name);
    hu_pb_write_int(&p->w, HU_PT_TRACK_RANK, id < INT32_MAX ? id : INT32_MAX);
    hu_pb_write_uint(&p->w, HU_PT_TRACK_ORDERING, HU_PT_ORDERING_EXPLICIT);
    if (d) {
        const hu_str text = describe(w, d);

        if (!text.p)
            return 0;
        hu_pb_write_str(&p->w, HU_PT_TRACK_DESCRIPTION, text);
    }
    close_descriptor(p, at);
    return p->devices.at[p->devices.n - 1].uuid;
}

static bool is_small(int64_t id)
{
    return id >= 0 && id <= INT32_MAX;
}

static bool note_streams(work *w)
{
    for (size_t t = 0; t < w->n_tracks; t++) {
        const hu_track *track = &w->tracks[t];
        uint32_t       *place;

        if (track->type != HU_TRACK_STREAM || track->pid_is_text || !is_small(track->pid) || !is_small(track->tid))
            continue;
        place = hu_map_put(&w->stream_at, (uint64_t)track->pid << 32 | (uint64_t)track->tid);
        if (!place)
            return false;
        *place = (uint32_t)t;
    }
    return true;
}

/* The stream whose row of the profiler this one shares, or NULL. */
static const hu_track *stream_below(const work *w, const hu_track *note)
{
    uint32_t at;

    if (note->pid_is_text || note->tid_is_text || !is_small(note->pid) || !is_small(note->tid))
        return NULL;
    at = hu_map_get(&w->stream_at, (uint64_t)note->pid << 32 | (uint64_t)note->tid);
    return at == HU_MAP_NONE ? NULL : &w->tracks[at];
}

/* Streams in the order of their numbers, each before its ranges. */
static int64_t rank_of_stream(const hu_track *stream, bool is_range)
{
    return stream->stream < INT32_MAX / 2 ? 2 * stream->stream + is_range : INT32_MAX;
}

static bool write_stream(work *w, const hu_track *stream, bool is_range, uint64_t uuid)
{
    const uint64_t parent = device_of(w, stream->device);
    hu_str         name = hu_track_name(w->trace, stream, w->p->arena);

    if (name.p && is_range)
        name = hu_track_join(w->p->arena, (hu_str[]){name, HU_STR(" · ranges")}, 2);
    if (!name.p || !parent)
        return false;
    write_row(w->p, uuid, parent, name, rank_of_stream(stream, is_range));
    return true;
}

static bool write_thread(work *w, uint32_t at, uint64_t uuid)
{
    hu_perfetto    *p = w->p;
    const hu_track *track = &w->tracks[at];
    uint32_t        pid;
    const uint32_t  tid = hu_numbering_of(&p->threads, track->tid, track->tid_is_text);
    const uint64_t  process = process_of(w, track, &pid);
    const hu_str    name = hu_track_name(w->trace, track, p->arena);
    uint32_t       *first = hu_map_put(&w->thread_uuid, at);

    if (!process || !tid || !name.p || !first)
        return false;
    if (*first == HU_MAP_NONE) {
        const nest   nested = open_descriptor(p, uuid, process);
        const size_t open = hu_pb_write_open(&p->w, HU_PT_TRACK_THREAD);

        *first = (uint32_t)uuid;
        p->thread_number[at] = tid;
        hu_pb_write_uint(&p->w, HU_PT_THREAD_PID, pid);
        hu_pb_write_uint(&p->w, HU_PT_THREAD_TID, tid);
        hu_pb_write_str(&p->w, HU_PT_THREAD_NAME, name);
        hu_pb_write_close(&p->w, open);
        close_descriptor(p, nested);
    } else {
        const hu_str more = hu_track_join(p->arena, (hu_str[]){name, HU_STR(" · overlapping")}, 2);

        if (!more.p)
            return false;
        write_row(p, uuid, *first, more, 0);
    }
    return true;
}

static bool write_note(work *w, const hu_track *track, uint64_t uuid)
{
    const hu_track *stream = stream_below(w, track);
    const hu_str    name = hu_track_name(w->trace, track, w->p->arena);

    if (stream)
        return write_stream(w, stream, true, uuid);
    if (name.p)
        write_row(w->p, uuid, w->p->main_process, name, INT32_MAX);
    return name.p != NULL;
}

static bool write_lane(work *w, const hu_lane *lane, uint64_t uuid)
{
    const hu_track *track = &w->tracks[lane->track];

    if (track->type == HU_TRACK_STREAM)
        return write_stream(w, track, false, uuid);
    if (track->type == HU_TRACK_HOST)
        return write_thread(w, lane->track, uuid);
    return write_note(w, track, uuid);
}

bool hu_perfetto_write_tracks(hu_perfetto *p)
{
    work w = {.p = p, .trace = p->part->trace};
    bool ok;

    w.tracks = hu_trace_tracks(w.trace, &w.n_tracks);
    p->lane_uuid = hu_arena_alloc(p->arena, (p->lanes.n + 1) * sizeof *p->lane_uuid);
    p->thread_number = hu_arena_calloc(p->arena, w.n_tracks + 1, sizeof *p->thread_number);
    ok = p->lane_uuid && p->thread_number && hu_map_init(&w.process_of, p->arena, 0) &&
         hu_map_init(&w.stream_at, p->arena, 0) && hu_map_init(&w.device_at, p->arena, 0) &&
         hu_map_init(&w.thread_uuid, p->arena, 0) && write_processes(&w) && note_streams(&w);
    for (size_t i = 0; ok && i < p->lanes.n; i++) {
        p->lane_uuid[i] = ++p->last_uuid;
        ok = hu_perfetto_are_states(p, &p->lanes.at[i]) || write_lane(&w, &p->lanes.at[i], p->lane_uuid[i]);
    }
    for (uint32_t t = 0; ok && t < w.n_tracks; t++) /* threads that live and do nothing else */
        if (w.tracks[t].type == HU_TRACK_HOST && w.tracks[t].n_stretches && !p->thread_number[t])
            ok = write_thread(&w, t, ++p->last_uuid);
    return ok && !p->w.no_memory;
}
