/* SPDX-License-Identifier: Apache-2.0
 * rocpd_rows.c - kernels, copies, calls, ranges and allocations of rocpd's databases.
 *
 * There are two schemas under one number: rows name their process, thread, agent and stream and have their times, or they
 * name a track and two rows of rocpd_timestamp.  What links a call and its kernel is stack_id of their events; the column
 * correlation_id holds the program's own ids.
 */
#include <stdio.h>

#include "base/json.h"
#include "ingest/rocpd.h"

/* Columns that all tables of rows begin with. */
enum { PID, TID, START, END, EVENT, TRACK, START_ID, END_ID, COMMON };
#define COMMON_COLUMNS "pid", "tid", "start", "end", "event_id", "track_id", "start_id", "end_id"

static void no_memory(rocpd_reader *r)
{
    hu_builder_fail(r->rocm.b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
}

static void read_tracks(rocpd_reader *r)
{
    enum { ID, PROCESS, THREAD, AGENT, QUEUE, STREAM };
    static const char *const columns[] = {"id", "pid", "tid", "agent_id", "queue_id", "stream_id", NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "track", table), columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const rocpd_track t = {.pid = nsight_int(&rows, PROCESS, 0),
                               .tid = nsight_int(&rows, THREAD, 0),
                               .agent = nsight_int(&rows, AGENT, -1),
                               .queue = nsight_int(&rows, QUEUE, -1),
                               .stream = nsight_int(&rows, STREAM, -1)};

        r->has_streams |= t.stream > 0;
        if (!rocpd_put(r, &r->tracks, nsight_int(&rows, ID, 0), r->track.n))
            return;
        if (!hu_vec_push(r->rocm.arena, &r->track, t))
            no_memory(r);
    }
}

static void read_timestamps(rocpd_reader *r)
{
    enum { ID, VALUE };
    static const char *const columns[] = {"id", "value", NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "timestamp", table), columns, NULL))
        return;
    while (nsight_next(&rows)) {
        if (!rocpd_put(r, &r->times, nsight_int(&rows, ID, 0), r->time.n))
            return;
        if (!hu_vec_push(r->rocm.arena, &r->time, nsight_int(&rows, VALUE, -1)))
            no_memory(r);
    }
}

/* {"message": "forward"}; 0: none. */
static uint32_t message_of(rocpd_reader *r, hu_str more)
{
    hu_str    value = more.n > 2 && more.p[0] == '{' ? hu_json_get(more, HU_STR("message")) : HU_STR("");
    hu_arena *arena;
    uint32_t  id = 0;

    if (!value.p || value.n < 2 || value.p[0] != '"')
        return 0;
    if (!memchr(value.p, '\\', value.n))
        return value.n > 2 ? hu_builder_intern(r->rocm.b, (hu_str){value.p + 1, value.n - 2}) : 0;
    arena = hu_arena_new();
    value = arena ? hu_json_text(arena, value) : (hu_str){NULL, 0};
    if (value.p)
        id = hu_builder_intern(r->rocm.b, value);
    else
        no_memory(r);
    hu_arena_free(arena);
    return id;
}

static void read_events(rocpd_reader *r)
{
    enum { ID, CATEGORY, STACK, MORE };
    static const char *const columns[] = {"id", "category_id", "stack_id", "extdata", NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "event", table), columns, NULL))
        return;
    r->lacks_links = !(rows.present >> STACK & 1);
    while (nsight_next(&rows)) {
        const rocpd_event e = {.stack = nsight_int(&rows, STACK, 0),
                               .category = nsight_string(&rows, CATEGORY),
                               .message = message_of(r, nsight_text(&rows, MORE))};

        if (!rocpd_put(r, &r->events, nsight_int(&rows, ID, 0), r->event.n))
            return;
        if (!hu_vec_push(r->rocm.arena, &r->event, e))
            no_memory(r);
    }
}

/* A row of any of the tables */

typedef struct {
    rocm_when   when;
    rocpd_track at;    /* as the row or its track says */
    rocpd_event event; /* zeros: none */
} place;

static int64_t time_at(const rocpd_reader *r, const nsight_rows *rows, int own, int other)
{
    uint32_t at;

    if (rows->present >> own & 1)
        return nsight_int(rows, own, -1);
    at = hu_map_get(&r->times, (uint64_t)nsight_int(rows, other, -1));
    return at == HU_MAP_NONE ? -1 : r->time.at[at];
}

/* False: of a process that is not wanted.  `agent`, `queue`, `stream`: columns, or -1. */
static bool take_place(rocpd_reader *r, const nsight_rows *rows, int agent, int queue, int stream, place *out)
{
    const uint32_t       event = hu_map_get(&r->events, (uint64_t)nsight_int(rows, EVENT, -1));
    const uint32_t       track = hu_map_get(&r->tracks, (uint64_t)nsight_int(rows, TRACK, -1));
    const rocpd_process *p;
    uint32_t             thread;

    *out = (place){.at = {.agent = -1, .queue = -1, .stream = -1}};
    if (track != HU_MAP_NONE)
        out->at = r->track.at[track];
    if (event != HU_MAP_NONE)
        out->event = r->event.at[event];
    out->at.pid = nsight_int(rows, PID, out->at.pid);
    out->at.tid = nsight_int(rows, TID, out->at.tid);
    out->at.agent = agent < 0 ? out->at.agent : nsight_int(rows, agent, out->at.agent);
    out->at.queue = queue < 0 ? out->at.queue : nsight_int(rows, queue, out->at.queue);
    out->at.stream = stream < 0 ? out->at.stream : nsight_int(rows, stream, out->at.stream);
    p = rocpd_process_of(r, out->at.pid);
    thread = hu_map_get(&r->threads, (uint64_t)out->at.tid);
    out->when = (rocm_when){.start_ns = time_at(r, rows, START, START_ID),
                            .end_ns = time_at(r, rows, END, END_ID),
                            .pid = p ? p->pid : out->at.pid,
                            .tid = thread == HU_MAP_NONE ? out->at.tid : r->tid.at[thread],
                            .correlation = out->event.stack};
    if (out->when.correlation > 0 && out->when.correlation < INT64_C(1) << 40 && p)
        out->when.correlation += (p->order & 0xfffff) << 40;
    return p ? p->is_wanted : rocm_wants(&r->rocm, out->when.pid);
}

/* Where no record names a stream but the default one, rows are those of the queues. */
static int64_t row_of(const rocpd_reader *r, const place *p)
{
    return r->has_streams || p->at.queue < 0 ? p->at.stream : p->at.queue;
}

static void find_streams(rocpd_reader *r)
{
    static const char *const columns[] = {"stream_id", NULL}, *const names[] = {"kernel_dispatch", "memory_copy"};
    char        table[ROCPD_TABLE];
    nsight_rows rows;

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (!r->has_streams && nsight_begin(&r->n, &rows, rocpd_table(r, names[i], table), columns, NULL))
            while (nsight_next(&rows))
                r->has_streams |= nsight_int(&rows, 0, 0) > 0;
}

static void take_kernel(rocpd_reader *r, const nsight_rows *rows, int kernel, int sizes, int shared, const place *p)
{
    const int64_t  id = nsight_int(rows, kernel, 0);
    const uint32_t symbol = hu_map_get(&r->symbols, (uint64_t)id);
    rocm_kernel    k = {.when = p->when,
                        .device = rocm_device_of(&r->rocm, rocpd_agent(r, p->at.agent)),
                        .stream = row_of(r, p),
                        .shared_bytes = nsight_int(rows, shared, 0)};

    for (int i = 0; i < 3; i++) {
        k.group[i] = nsight_int(rows, sizes + i, 0);
        k.grid[i] = nsight_int(rows, sizes + 3 + i, 0);
    }
    if (symbol == HU_MAP_NONE) {
        char name[48];

        snprintf(name, sizeof name, "kernel %lld", (long long)id);
        k.name = hu_builder_intern(r->rocm.b, hu_str_of(name));
        hu_quality_count(hu_builder_quality(r->rocm.b), HU_REASON_UNKNOWN_ID, 0);
    } else {
        k.name = r->symbol.at[symbol].name;
        k.mangled = r->symbol.at[symbol].mangled;
        k.registers = r->symbol.at[symbol].registers;
    }
    rocm_add_kernel(&r->rocm, &k);
}

static void read_kernels(rocpd_reader *r)
{
    enum { KERNEL = COMMON, AGENT, QUEUE, STREAM, SHARED, SIZES };
    static const char *const columns[] = {COMMON_COLUMNS,
                                          "kernel_id",
                                          "agent_id",
                                          "queue_id",
                                          "stream_id",
                                          "group_segment_size",
                                          "workgroup_size_x",
                                          "workgroup_size_y",
                                          "workgroup_size_z",
                                          "grid_size_x",
                                          "grid_size_y",
                                          "grid_size_z",
                                          NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;
    place                    p;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "kernel_dispatch", table), columns, NULL))
        return;
    while (nsight_next(&rows))
        if (take_place(r, &rows, AGENT, QUEUE, STREAM, &p))
            take_kernel(r, &rows, KERNEL, SIZES, SHARED, &p);
}

static void read_copies(rocpd_reader *r)
{
    enum { NAME = COMMON, FROM, TO, BYTES, QUEUE, STREAM };
    static const char *const columns[] = {COMMON_COLUMNS, "name_id",  "src_agent_id", "dst_agent_id",
                                          "size",         "queue_id", "stream_id",    NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;
    place                    p;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "memory_copy", table), columns, NULL))
        return;
    while (nsight_next(&rows))
        if (take_place(r, &rows, -1, QUEUE, STREAM, &p))
            rocm_add_copy(&r->rocm,
                          &(rocm_copy){.when = p.when,
                                       .direction = hu_builder_text(r->rocm.b, nsight_string(&rows, NAME)),
                                       .from = rocm_device_of(&r->rocm, rocpd_agent(r, nsight_int(&rows, FROM, -1))),
                                       .to = rocm_device_of(&r->rocm, rocpd_agent(r, nsight_int(&rows, TO, -1))),
                                       .stream = p.at.stream,
                                       .bytes = nsight_int(&rows, BYTES, -1)});
}

static void read_regions(rocpd_reader *r)
{
    enum { NAME = COMMON };
    static const char *const columns[] = {COMMON_COLUMNS, "name_id", NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;
    place                    p;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "region", table), columns, NULL))
        return;
    while (nsight_next(&rows)) {
        rocm_call c;

        if (!take_place(r, &rows, -1, -1, -1, &p))
            continue;
        c = (rocm_call){.when = p.when,
                        .domain = hu_builder_text(r->rocm.b, p.event.category),
                        .name = hu_builder_text(r->rocm.b, nsight_string(&rows, NAME)),
                        .message = hu_builder_text(r->rocm.b, p.event.message)};
        c.overlaps = hu_str_has(c.name, HU_STR("RangeStart")) || hu_str_has(c.name, HU_STR("ProcessRange"));
        rocm_add_call(&r->rocm, &c);
    }
}

static void read_allocations(rocpd_reader *r)
{
    enum { TYPE = COMMON, LEVEL, ADDRESS, BYTES, AGENT };
    static const char *const columns[] = {COMMON_COLUMNS, "type", "level", "address", "size", "agent_id", NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;
    place                    p;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "memory_allocate", table), columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const bool is_release = hu_str_equal(nsight_text(&rows, TYPE), HU_STR("FREE"));

        if (!take_place(r, &rows, AGENT, -1, -1, &p) || hu_str_equal(nsight_text(&rows, LEVEL), HU_STR("SCRATCH")) ||
            (!is_release && !hu_str_equal(nsight_text(&rows, TYPE), HU_STR("ALLOC"))))
            continue;
        rocm_add_allocation(&r->rocm,
                            &(rocm_allocation){.time_ns = p.when.start_ns,
                                               .pid = p.when.pid,
                                               .tid = p.when.tid,
                                               .bytes = is_release ? -1 : nsight_int(&rows, BYTES, 0),
                                               .address = (uint64_t)nsight_int(&rows, ADDRESS, 0),
                                               .device = (int32_t)rocm_device_of(&r->rocm, rocpd_agent(r, p.at.agent))});
    }
}

void rocpd_read_rows(rocpd_reader *r)
{
    read_tracks(r);
    read_timestamps(r);
    read_events(r);
    find_streams(r);
    read_regions(r);
    read_kernels(r);
    read_copies(r);
    read_allocations(r);
    if (r->lacks_links && r->set == 0)
        rocm_warn(&r->rocm, "rocpd_event has no stack_id: kernels are not linked to calls");
}
