/* SPDX-License-Identifier: Apache-2.0
 * perfetto_counters.c - lines over time: memory of each device as the allocator counted it, the counters that the file
 * holds, and the work that was launched on a device and has not finished.
 *
 * The last one counts a piece of work from the beginning of its call to its own end; work whose call was not recorded
 * is left out.  Where it falls to 0 the device waits for the host.
 */
#include "base/number.h"
#include "base/sort.h"
#include "render/export/perfetto_writer.h"
#include "render/export/track_names.h"

enum {
    FIRST_RANK = 1 << 20, /* below the devices */
    MOST_QUEUES = 64,     /* devices whose work is counted; each is a pass over the slices */
};

static uint64_t write_counter(hu_perfetto *p, uint64_t parent, hu_str name, unsigned unit)
{
    const size_t   packet = hu_perfetto_open(p), descriptor = hu_pb_write_open(&p->w, HU_PT_PACKET_TRACK);
    const uint64_t uuid = ++p->last_uuid;
    size_t         counter;

    hu_pb_write_uint(&p->w, HU_PT_TRACK_UUID, uuid);
    hu_pb_write_uint(&p->w, HU_PT_TRACK_PARENT, parent);
    hu_pb_write_str(&p->w, HU_PT_TRACK_NAME, name);
    hu_pb_write_int(&p->w, HU_PT_TRACK_RANK, FIRST_RANK);
    counter = hu_pb_write_open(&p->w, HU_PT_TRACK_COUNTER);
    if (unit)
        hu_pb_write_uint(&p->w, HU_PT_COUNTER_UNIT, unit);
    hu_pb_write_close(&p->w, counter);
    hu_pb_write_close(&p->w, descriptor);
    hu_perfetto_close(p, packet);
    return uuid;
}

typedef struct {
    size_t packet, event;
} nest;

static nest open_value(hu_perfetto *p, uint64_t uuid, int64_t time_ns)
{
    nest at = {hu_perfetto_open(p), 0};

    hu_pb_write_uint(&p->w, HU_PT_PACKET_TIMESTAMP, hu_perfetto_time(p, time_ns));
    at.event = hu_pb_write_open(&p->w, HU_PT_PACKET_EVENT);
    hu_pb_write_uint(&p->w, HU_PT_EVENT_TYPE, HU_PT_TYPE_COUNTER);
    hu_pb_write_uint(&p->w, HU_PT_EVENT_TRACK, uuid);
    return at;
}

static void close_value(hu_perfetto *p, nest at)
{
    hu_pb_write_close(&p->w, at.event);
    hu_perfetto_close(p, at.packet);
}

static void write_whole(hu_perfetto *p, uint64_t uuid, int64_t time_ns, int64_t value)
{
    const nest at = open_value(p, uuid, time_ns);

    hu_pb_write_int(&p->w, HU_PT_EVENT_COUNTER, value);
    close_value(p, at);
}

static bool is_inside(const hu_perfetto *p, int64_t time_ns)
{
    return time_ns >= p->part->window.start_ns && time_ns < p->part->window.end_ns;
}

/* "GPU 0 memory allocated", "CPU memory allocated"; p NULL when there is no memory. */
static hu_str memory_name(hu_perfetto *p, const hu_memory_event *m, const char *what)
{
    char       number[HU_NUMBER_BYTES];
    const bool is_cpu = m->device < 0;

    return hu_track_join(p->arena,
                         (hu_str[]){is_cpu ? HU_STR("CPU") : HU_STR("GPU "),
                                    {number, is_cpu ? 0 : hu_format_i64(number, m->device)},
                                    HU_STR(" memory "),
                                    hu_str_of(what)},
                         4);
}

/* Values of one total on a track for each device, made when its first value comes. */
static bool write_memory(hu_perfetto *p, const char *what, bool is_reserved)
{
    size_t                 n;
    const hu_memory_event *m = hu_trace_memory(p->part->trace, &n);
    HU_VEC(uint64_t) uuids = {0};
    hu_map tracks;

    if (!hu_map_init(&tracks, p->arena, 0))
        return false;
    for (size_t i = 0; i < n; i++) {
        const int64_t value = is_reserved ? m[i].total_reserved : m[i].total_allocated;
        uint32_t     *place;

        /* the allocator of the host reserves nothing and says 0 */
        if (value < 0 || !is_inside(p, m[i].time_ns) || (is_reserved && m[i].device < 0))
            continue;
        place = hu_map_put(&tracks, (uint64_t)(uint32_t)m[i].device_type << 32 | (uint32_t)m[i].device);
        if (place && *place == HU_MAP_NONE) {
            const hu_str name = memory_name(p, &m[i], what);

            *place = (uint32_t)uuids.n;
            if (!name.p || !hu_vec_push(p->arena, &uuids, write_counter(p, p->main_process, name, HU_PT_UNIT_BYTES)))
                return false;
        }
        if (!place)
            return false;
        write_whole(p, uuids.at[*place], m[i].time_ns, value);
    }
    return true;
}

static bool write_samples(hu_perfetto *p)
{
    size_t           n, n_tracks;
    const hu_sample *samples = hu_trace_samples(p->part->trace, &n);
    const hu_track  *tracks = hu_trace_tracks(p->part->trace, &n_tracks);
    uint64_t        *uuid = n ? hu_arena_calloc(p->arena, n_tracks, sizeof *uuid) : NULL;

    if (n && !uuid)
        return false;
    for (size_t i = 0; i < n; i++) {
        const uint32_t track = samples[i].track;
        nest           at;

        if (!is_inside(p, samples[i].time_ns))
            continue;
        if (!uuid[track])
            uuid[track] = write_counter(p, p->main_process, hu_trace_text(p->part->trace, tracks[track].name), 0);
        at = open_value(p, uuid[track], samples[i].time_ns);
        hu_pb_write_double(&p->w, HU_PT_EVENT_COUNTER_DOUBLE, samples[i].value);
        close_value(p, at);
    }
    return true;
}

typedef struct {
    int64_t *begin_ns, *end_ns;
    size_t   n;
} queue;

static void collect_queue(const hu_perfetto *p, int64_t device, queue *q)
{
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(p->part->trace, &n_tracks);

    q->n = 0;
    for (uint32_t i = 0; i < p->s.n; i++) {
        uint32_t call;

        if (!hu_kind_in(p->s.kind[i], HU_KINDS_DEVICE) || tracks[p->s.track[i]].device != device ||
            !hu_export_keeps(p->part, &p->s, i))
            continue;
        call = hu_trace_launch_of(p->part->trace, i);
        if (call == HU_NONE || p->s.start_ns[call] > p->s.start_ns[i])
            continue;
        q->begin_ns[q->n] = p->s.start_ns[call];
        q->end_ns[q->n++] = p->s.start_ns[i] + p->s.dur_ns[i];
    }
    hu_sort_i64(q->begin_ns, q->n);
    hu_sort_i64(q->end_ns, q->n);
}

/* A value wherever it changes. */
static void write_queue(hu_perfetto *p, uint64_t uuid, const queue *q)
{
    int64_t depth = 0;

    for (size_t i = 0, j = 0; j < q->n;) {
        const int64_t now_ns = i < q->n && q->begin_ns[i] < q->end_ns[j] ? q->begin_ns[i] : q->end_ns[j];

        for (; i < q->n && q->begin_ns[i] == now_ns; i++)
            depth++;
        for (; j < q->n && q->end_ns[j] == now_ns; j++)
            depth--;
        if (is_inside(p, now_ns))
            write_whole(p, uuid, now_ns, depth);
    }
}

static bool write_queues(hu_perfetto *p)
{
    queue q = {.n = 0};

    if (p->devices.n == 0)
        return true;
    q.begin_ns = hu_arena_alloc(p->arena, (p->s.n + 1) * sizeof *q.begin_ns);
    q.end_ns = hu_arena_alloc(p->arena, (p->s.n + 1) * sizeof *q.end_ns);
    if (!q.begin_ns || !q.end_ns)
        return false;
    for (size_t d = 0; d < p->devices.n && d < MOST_QUEUES; d++) {
        char   number[HU_NUMBER_BYTES];
        hu_str name;

        collect_queue(p, p->devices.at[d].id, &q);
        if (q.n == 0)
            continue;
        name = hu_track_join(p->arena,
                             (hu_str[]){HU_STR("GPU "),
                                        {number, hu_format_i64(number, p->devices.at[d].id)},
                                        HU_STR(" launched, not finished")},
                             3);
        if (!name.p)
            return false;
        write_queue(p, write_counter(p, p->main_process, name, HU_PT_UNIT_COUNT), &q);
    }
    return true;
}

bool hu_perfetto_write_counters(hu_perfetto *p)
{
    return write_memory(p, "allocated", false) && write_memory(p, "reserved", true) && write_samples(p) && write_queues(p) &&
           !p->w.no_memory;
}
