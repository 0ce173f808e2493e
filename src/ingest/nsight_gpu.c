/* SPDX-License-Identifier: Apache-2.0
 * nsight_gpu.c - work of the GPU, the calls that launch it, and what waits for it.
 *
 * Names and details are as PyTorch's profiler has them, so that every question has one answer for both.
 *
 * The numbers of syncType are not stable: in 2024.6 a stream's synchronisation is 2, in 2026.2 it is 3 and another column
 * keeps the old number.  So a wait is what the call with its correlation is named, and its number counts only where there is
 * no such call.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ingest/nsight.h"
#include "ingest/producers.h"

/* What a call waits for. */
typedef enum { WAIT_EVENT = 1, WAIT_STREAM_EVENT, WAIT_STREAM, WAIT_CONTEXT, WAIT_NOT, WAIT_COUNT } wait_kind;

static const char *const wait_names[WAIT_COUNT] = {[WAIT_EVENT] = "Event Sync",
                                                   [WAIT_STREAM_EVENT] = "Stream Wait Event",
                                                   [WAIT_STREAM] = "Stream Sync",
                                                   [WAIT_CONTEXT] = "Context Sync"};

static const struct {
    const char *name;
    wait_kind   kind;
} waiting_calls[] = {
    {"cudaEventSynchronize", WAIT_EVENT},
    {"cuEventSynchronize", WAIT_EVENT},
    {"cudaStreamWaitEvent", WAIT_STREAM_EVENT},
    {"cuStreamWaitEvent", WAIT_STREAM_EVENT},
    {"cudaStreamSynchronize", WAIT_STREAM},
    {"cuStreamSynchronize", WAIT_STREAM},
    {"cudaDeviceSynchronize", WAIT_CONTEXT},
    {"cuCtxSynchronize", WAIT_CONTEXT},
    {"cudaEventQuery", WAIT_NOT},
    {"cuEventQuery", WAIT_NOT},
    {"cudaStreamQuery", WAIT_NOT},
    {"cuStreamQuery", WAIT_NOT},
};

static uint64_t call_key(int64_t pid, int64_t correlation)
{
    return (uint64_t)pid << 40 ^ (uint64_t)correlation;
}

/* "cudaLaunchKernel_v7000" is "cudaLaunchKernel"; the "_v2" of a driver's function is part of its name. */
static hu_str without_version(hu_str name)
{
    size_t n = name.n;

    while (n && name.p[n - 1] >= '0' && name.p[n - 1] <= '9')
        n--;
    if (n >= 2 && name.n - n >= 4 && name.p[n - 1] == 'v' && name.p[n - 2] == '_')
        name.n = n - 2;
    return name;
}

/* Names are few and rows are many: the name without its version, by string id. */
static uint32_t call_name(nsight_reader *r, hu_map *known, uint32_t name)
{
    uint32_t *place = hu_map_put(known, name);

    if (!place) {
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        return 0;
    }
    if (*place == HU_MAP_NONE)
        *place = hu_builder_intern(r->b, without_version(hu_builder_text(r->b, name)));
    return *place;
}

static bool is_driver(hu_str name)
{
    return name.n > 2 && name.p[0] == 'c' && name.p[1] == 'u' && name.p[2] >= 'A' && name.p[2] <= 'Z';
}

static void note_wait(nsight_reader *r, hu_str name, int64_t pid, int64_t correlation)
{
    for (size_t i = 0; i < HU_COUNT(waiting_calls); i++) {
        uint32_t *place;

        if (!hu_str_equal(name, hu_str_of(waiting_calls[i].name)))
            continue;
        place = hu_map_put(&r->waits, call_key(pid, correlation));
        if (place)
            *place = waiting_calls[i].kind;
        else
            hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    }
}

/* ENUM_NSYS_EVENT_CLASS */
enum { CLASS_RUNTIME = 0, CLASS_DRIVER = 1, CLASS_BACKTRACE = 67 };

/* With --cudabacktrace a call lies in the table twice: as CUPTI saw it, and as the one whose stack was taken. */
static bool has_plain_calls(nsight_reader *r)
{
    static const char *const columns[] = {"eventClass", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "CUPTI_ACTIVITY_KIND_RUNTIME", columns, NULL))
        return false;
    while (nsight_next(&rows)) {
        const int64_t class = nsight_int(&rows, 0, CLASS_RUNTIME);

        if (class == CLASS_RUNTIME || class == CLASS_DRIVER) {
            sqlite3_finalize(rows.statement);
            return true;
        }
    }
    return false;
}

static void read_calls(nsight_reader *r)
{
    enum { START, END, THREAD, CORRELATION, NAME, CLASS };
    static const char *const columns[] = {"start", "end", "globalTid", "correlationId", "nameId", "eventClass", NULL};
    const bool               is_plain = has_plain_calls(r);
    nsight_rows              rows;
    hu_map                   names;

    if (!hu_map_init(&names, r->arena, 256) || !nsight_begin(r, &rows, "CUPTI_ACTIVITY_KIND_RUNTIME", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t    thread = nsight_int(&rows, THREAD, 0), pid = nsight_pid(thread);
        hu_builder_slice s = {.detail = HU_NONE};
        hu_str           name;

        if (is_plain && nsight_int(&rows, CLASS, CLASS_RUNTIME) == CLASS_BACKTRACE)
            continue;
        if (!nsight_wants(r, pid) || !nsight_times(r, &rows, START, END, &s))
            continue;
        nsight_take_part(r, pid);
        s.name = call_name(r, &names, nsight_string(&rows, NAME));
        name = hu_builder_text(r->b, s.name);
        s.kind = is_driver(name) ? HU_KIND_DRIVER : HU_KIND_RUNTIME;
        s.correlation = (uint64_t)nsight_int(&rows, CORRELATION, 0);
        s.track = hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){pid, false},
                                   (hu_builder_id){nsight_tid(thread), false});
        hu_builder_add(r->b, &s);
        note_wait(r, name, pid, (int64_t)s.correlation);
        r->gpu_pid = r->gpu_pid ? r->gpu_pid : pid;
    }
}

/* The process of a row of the device; early and cut exports do not say it. */
static int64_t pid_of(const nsight_rows *rows, int column)
{
    const int64_t global = nsight_int(rows, column, 0);

    return global ? nsight_pid(global) : rows->r->gpu_pid;
}

static uint32_t count_of(const nsight_rows *rows, int column)
{
    const int64_t v = nsight_int(rows, column, 0);

    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* A node's id has its graph in the upper half; of early exports it is the node alone. */
static void read_graph(const nsight_rows *rows, int node, int graph, uint32_t *graph_id, uint32_t *graph_node)
{
    const uint64_t id = (uint64_t)nsight_int(rows, node, 0);

    *graph_node = (uint32_t)id;
    *graph_id = id >> 32 ? (uint32_t)(id >> 32) : count_of(rows, graph);
    if (id && !*graph_id)
        *graph_id = 1;
}

/* As Kineto computes them: blocks of the grid, and their warps, over the multiprocessors of the device. */
static void spread(const nsight_reader *r, int64_t device, hu_kernel_detail *d)
{
    const hu_device *at = hu_builder_device_of(r->b, device);
    const double     blocks = (double)d->grid[0] * d->grid[1] * d->grid[2];
    const double     threads = (double)d->block[0] * d->block[1] * d->block[2];

    if (!at || at->sm_count <= 0 || at->warp_size <= 0)
        return;
    d->blocks_per_sm = (float)(blocks / at->sm_count);
    d->warps_per_sm = (float)(blocks / at->sm_count * threads / at->warp_size);
}

static void read_kernels(nsight_reader *r)
{
    enum {
        START,
        END,
        DEVICE,
        STREAM,
        CONTEXT,
        CORRELATION,
        PROCESS,
        NAME,
        SHORT,
        MANGLED,
        REGISTERS,
        GRID_X,
        GRID_Y,
        GRID_Z,
        BLOCK_X,
        BLOCK_Y,
        BLOCK_Z,
        STATIC,
        DYNAMIC,
        NODE,
        GRAPH,
    };
    static const char *const columns[] = {"start",
                                          "end",
                                          "deviceId",
                                          "streamId",
                                          "contextId",
                                          "correlationId",
                                          "globalPid",
                                          "demangledName",
                                          "shortName",
                                          "mangledName",
                                          "registersPerThread",
                                          "gridX",
                                          "gridY",
                                          "gridZ",
                                          "blockX",
                                          "blockY",
                                          "blockZ",
                                          "staticSharedMemory",
                                          "dynamicSharedMemory",
                                          "graphNodeId",
                                          "graphId",
                                          NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "CUPTI_ACTIVITY_KIND_KERNEL", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t    pid = pid_of(&rows, PROCESS), device = nsight_int(&rows, DEVICE, -1);
        hu_builder_slice s = {.kind = HU_KIND_KERNEL};
        hu_kernel_detail d = {.blocks_per_sm = (float)NAN,
                              .warps_per_sm = (float)NAN,
                              .occupancy_pct = (float)NAN,
                              .priority = INT32_MIN,
                              .context = count_of(&rows, CONTEXT)};

        if (!nsight_wants(r, pid) || !nsight_times(r, &rows, START, END, &s))
            continue;
        nsight_take_part(r, pid);
        s.name = nsight_string(&rows, NAME);
        s.name = s.name ? s.name : nsight_string(&rows, SHORT);
        hu_builder_alias(r->b, HU_ALIAS_BASE, s.name, nsight_string(&rows, SHORT));
        hu_builder_alias(r->b, HU_ALIAS_MANGLED, s.name, nsight_string(&rows, MANGLED));
        for (int i = 0; i < 3; i++) {
            const uint32_t block = count_of(&rows, BLOCK_X + i);

            d.grid[i] = count_of(&rows, GRID_X + i);
            d.block[i] = block <= UINT16_MAX ? (uint16_t)block : 0;
        }
        d.registers = (uint16_t)(count_of(&rows, REGISTERS) <= UINT16_MAX ? count_of(&rows, REGISTERS) : 0);
        d.shared_bytes = count_of(&rows, STATIC) + count_of(&rows, DYNAMIC);
        read_graph(&rows, NODE, GRAPH, &d.graph, &d.graph_node);
        spread(r, device, &d);
        if (hu_producers_is_comm(hu_builder_text(r->b, s.name)))
            s.kind = HU_KIND_COLLECTIVE;
        s.correlation = (uint64_t)nsight_int(&rows, CORRELATION, 0);
        s.detail = hu_builder_kernel_detail(r->b, &d);
        s.track = hu_builder_stream(r->b, (hu_builder_id){pid, false}, device, nsight_int(&rows, STREAM, -1));
        hu_builder_add(r->b, &s);
    }
}

/* ENUM_CUDA_MEM_KIND, which is one less than CUPTI's. */
static const char *memory_kind(int64_t kind)
{
    static const char *const words[] = {"Pageable", "Pinned",        "Device",        "Array",
                                        "Managed",  "Device Static", "Managed Static"};

    return kind >= 0 && kind < (int64_t)HU_COUNT(words) ? words[kind] : "Unknown";
}

/* ENUM_CUDA_MEMCPY_OPER; copies of managed memory are copies. */
static const char *direction(int64_t kind)
{
    static const char *const words[] = {
        [1] = "HtoD", [2] = "DtoH", [3] = "HtoA",  [4] = "AtoH",  [5] = "AtoA",  [6] = "AtoD", [7] = "DtoA",
        [8] = "DtoD", [9] = "HtoH", [10] = "PtoP", [11] = "HtoD", [12] = "DtoH", [13] = "DtoD"};

    return kind > 0 && kind < (int64_t)HU_COUNT(words) ? words[kind] : "Unknown";
}

static int64_t bytes_of(const nsight_rows *rows, int column)
{
    const int64_t bytes = nsight_int(rows, column, -1);

    return bytes >= 0 && bytes < INT64_C(1) << 50 ? bytes : -1;
}

/* A copy that moved managed memory, by its address. */
static void note_migration(nsight_reader *r, const nsight_rows *rows, int kind, int address, int64_t bytes, int64_t dur_ns)
{
    enum { TO_DEVICE = 11, TO_HOST = 12 };
    const int64_t to = nsight_int(rows, kind, 0), at = nsight_int(rows, address, 0);

    if ((to == TO_DEVICE || to == TO_HOST) && at && bytes >= 0)
        hu_builder_managed(r->b, &(hu_managed_event){.kind = to == TO_DEVICE ? HU_MANAGED_TO_DEVICE : HU_MANAGED_TO_HOST,
                                                     .address = (uint64_t)at,
                                                     .amount = bytes,
                                                     .dur_ns = dur_ns});
}

/* Copies and fills. */
static void read_copies(nsight_reader *r, const char *table, bool is_fill)
{
    enum {
        START,
        END,
        DEVICE,
        STREAM,
        CORRELATION,
        PROCESS,
        BYTES,
        NODE,
        GRAPH,
        KIND,
        FROM,
        TO,
        FROM_DEVICE,
        TO_DEVICE,
        FILLED,
        ADDRESS,
    };
    static const char *const columns[] = {"start",          "end",     "deviceId",    "streamId",    "correlationId",
                                          "globalPid",      "bytes",   "graphNodeId", "graphId",     "copyKind",
                                          "srcKind",        "dstKind", "srcDeviceId", "dstDeviceId", "memKind",
                                          "virtualAddress", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, table, columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t    pid = pid_of(&rows, PROCESS), device = nsight_int(&rows, DEVICE, -1);
        hu_builder_slice s = {.kind = is_fill ? HU_KIND_MEMSET : HU_KIND_MEMCPY};
        hu_copy_detail   d = {.bytes = bytes_of(&rows, BYTES),
                              .gbps = NAN,
                              .from_device = nsight_int32(&rows, FROM_DEVICE, -1),
                              .to_device = nsight_int32(&rows, TO_DEVICE, -1)};
        char             name[96];

        if (!nsight_wants(r, pid) || !nsight_times(r, &rows, START, END, &s))
            continue;
        nsight_take_part(r, pid);
        if (is_fill)
            snprintf(name, sizeof name, "Memset (%s)", memory_kind(nsight_int(&rows, FILLED, -1)));
        else
            snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", direction(nsight_int(&rows, KIND, 0)),
                     memory_kind(nsight_int(&rows, FROM, -1)), memory_kind(nsight_int(&rows, TO, -1)));
        if (d.bytes >= 0 && s.dur_ns > 0)
            d.gbps = (double)d.bytes / (double)s.dur_ns;
        if (!is_fill)
            note_migration(r, &rows, KIND, ADDRESS, d.bytes, s.dur_ns);
        read_graph(&rows, NODE, GRAPH, &d.graph, &d.graph_node);
        s.name = hu_builder_intern(r->b, hu_str_of(name));
        s.correlation = (uint64_t)nsight_int(&rows, CORRELATION, 0);
        s.detail = hu_builder_copy_detail(r->b, &d);
        s.track = hu_builder_stream(r->b, (hu_builder_id){pid, false}, device, nsight_int(&rows, STREAM, -1));
        hu_builder_add(r->b, &s);
    }
}

/* Graphs that were traced as a whole: one piece of work for all of their nodes. */
static void read_graphs(nsight_reader *r)
{
    enum { START, END, DEVICE, STREAM, CORRELATION, PROCESS, GRAPH };
    static const char *const columns[] = {"start",         "end",       "deviceId", "streamId",
                                          "correlationId", "globalPid", "graphId",  NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t    pid = pid_of(&rows, PROCESS);
        hu_builder_slice s = {.kind = HU_KIND_KERNEL};
        hu_kernel_detail d = {.blocks_per_sm = (float)NAN,
                              .warps_per_sm = (float)NAN,
                              .occupancy_pct = (float)NAN,
                              .priority = INT32_MIN,
                              .graph = count_of(&rows, GRAPH)};
        char             name[48];

        if (!nsight_wants(r, pid) || !nsight_times(r, &rows, START, END, &s))
            continue;
        nsight_take_part(r, pid);
        d.graph = d.graph ? d.graph : 1;
        snprintf(name, sizeof name, "CUDA graph %u", (unsigned)d.graph);
        s.name = hu_builder_intern(r->b, hu_str_of(name));
        s.correlation = (uint64_t)nsight_int(&rows, CORRELATION, 0);
        s.detail = hu_builder_kernel_detail(r->b, &d);
        s.track = hu_builder_stream(r->b, (hu_builder_id){pid, false}, nsight_int(&rows, DEVICE, -1),
                                    nsight_int(&rows, STREAM, -1));
        hu_builder_add(r->b, &s);
    }
}

/* A record of an event on a stream. */
typedef struct {
    int64_t pid, event, sync, correlation, stream;
} event_record;

typedef HU_VEC(event_record) event_records;

static int by_event(const void *a, const void *b)
{
    const event_record *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

static bool read_records(nsight_reader *r, event_records *out)
{
    enum { STREAM, CORRELATION, PROCESS, EVENT, SYNC };
    static const char *const columns[] = {"streamId", "correlationId", "globalPid", "eventId", "eventSyncId", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", columns, NULL))
        return !r->error.code;
    while (nsight_next(&rows)) {
        const event_record e = {.pid = pid_of(&rows, PROCESS),
                                .event = nsight_int(&rows, EVENT, -1),
                                .sync = nsight_int(&rows, SYNC, -1),
                                .correlation = nsight_int(&rows, CORRELATION, 0),
                                .stream = nsight_int(&rows, STREAM, -1)};

        if (nsight_wants(r, e.pid) && !hu_vec_push(r->arena, out, e)) {
            sqlite3_finalize(rows.statement);
            return false;
        }
    }
    if (out->n)
        qsort(out->at, out->n, sizeof *out->at, by_event);
    return true;
}

/* An event is recorded again and again: the last record before the wait, or the one that says it is its own. */
static const event_record *find_record(const event_records *records, const event_record *wait)
{
    const event_record *found = NULL;
    size_t              low = 0, high = records->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (by_event(&records->at[middle], wait) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0 && records->at[low].pid == wait->pid && records->at[low].event == wait->event) {
        found = found ? found : &records->at[low];
        if (wait->sync < 0 || records->at[low].sync == wait->sync)
            return &records->at[low];
    }
    return found;
}

/* Where no call tells: numbers of the newer schema, which keeps the old ones beside. */
static wait_kind kind_of_number(const nsight_rows *rows, int column, int old)
{
    const int64_t n = nsight_int(rows, column, 0);

    if (!(rows->present >> old & 1))
        return WAIT_NOT;
    return n >= WAIT_EVENT && n <= WAIT_CONTEXT ? (wait_kind)n : WAIT_NOT;
}

/* The row of what waits for a stream, or for a device, is no thread. */
static void name_waits(nsight_reader *r, hu_map *named, uint32_t track, int64_t device, int64_t stream)
{
    uint32_t *place = hu_map_put(named, track);
    char      name[48];

    if (!place)
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    if (!place || *place != HU_MAP_NONE)
        return;
    *place = track;
    snprintf(name, sizeof name, "waits for %s %lld", stream >= 0 ? "stream" : "GPU",
             (long long)(stream >= 0 ? stream : device));
    hu_builder_name_thread(r->b, (hu_builder_id){device, false}, (hu_builder_id){stream, false},
                           hu_builder_intern(r->b, hu_str_of(name)));
}

static void read_waits(nsight_reader *r, const event_records *records)
{
    enum { START, END, DEVICE, STREAM, CORRELATION, PROCESS, TYPE, OLD_TYPE, EVENT, SYNC };
    static const char *const columns[] = {"start",         "end",         "deviceId", "streamId",
                                          "correlationId", "globalPid",   "syncType", "deprecatedSyncType",
                                          "eventId",       "eventSyncId", NULL};
    nsight_rows              rows;
    hu_map                   named;

    if (!hu_map_init(&named, r->arena, 16) || !nsight_begin(r, &rows, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t       pid = pid_of(&rows, PROCESS), correlation = nsight_int(&rows, CORRELATION, 0);
        const uint32_t      known = hu_map_get(&r->waits, call_key(pid, correlation));
        const wait_kind     kind = known == HU_MAP_NONE ? kind_of_number(&rows, TYPE, OLD_TYPE) : (wait_kind)known;
        hu_builder_slice    s = {.kind = HU_KIND_SYNC, .correlation = (uint64_t)correlation};
        hu_sync_detail      d = {.wait_stream = -1, .wait_event = -1, .wait_record = -1, .stream = -1};
        const event_record *record;

        if (!nsight_wants(r, pid) || kind == WAIT_NOT || !nsight_times(r, &rows, START, END, &s))
            continue;
        d.stream = nsight_int(&rows, STREAM, -1);
        if (d.stream == UINT32_MAX || kind == WAIT_CONTEXT)
            d.stream = -1;
        if (kind == WAIT_EVENT || kind == WAIT_STREAM_EVENT) {
            d.wait_event = nsight_int(&rows, EVENT, -1);
            record = find_record(records, &(event_record){.pid = pid,
                                                          .event = d.wait_event,
                                                          .sync = nsight_int(&rows, SYNC, -1),
                                                          .correlation = correlation});
            d.wait_stream = record ? record->stream : -1;
            d.wait_record = record ? record->correlation : -1;
        }
        s.name = hu_builder_intern(r->b, hu_str_of(wait_names[kind]));
        s.detail = hu_builder_sync_detail(r->b, &d);
        s.track = hu_builder_track(r->b, HU_TRACK_NOTE, (hu_builder_id){nsight_int(&rows, DEVICE, -1), false},
                                   (hu_builder_id){d.stream, false});
        name_waits(r, &named, s.track, nsight_int(&rows, DEVICE, -1), d.stream);
        hu_builder_add(r->b, &s);
    }
}

static void read_memory(nsight_reader *r)
{
    enum { START, PROCESS, DEVICE, ADDRESS, BYTES, KIND, OPERATION, STREAM };
    static const char *const columns[] = {"start",   "globalPid",           "deviceId", "address", "bytes",
                                          "memKind", "memoryOperationType", "streamId", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "CUDA_GPU_MEMORY_USAGE_EVENTS", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        enum { PAGEABLE, PINNED, DEVICE_MEMORY, RELEASES = 1 };
        const int64_t   pid = pid_of(&rows, PROCESS), bytes = bytes_of(&rows, BYTES);
        const int64_t   kind = nsight_int(&rows, KIND, DEVICE_MEMORY);
        hu_memory_event m = {.time_ns = nsight_int(&rows, START, -1),
                             .device_type = 1,
                             .device = nsight_int32(&rows, DEVICE, -1),
                             .address = (uint64_t)nsight_int(&rows, ADDRESS, 0),
                             .bytes = nsight_int(&rows, OPERATION, 0) == RELEASES ? -bytes : bytes,
                             .total_allocated = -1,
                             .total_reserved = -1};

        if (!nsight_wants(r, pid) || m.time_ns < 0 || bytes < 0 || kind == PAGEABLE || kind == PINNED)
            continue;
        m.track = hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){pid, false}, (hu_builder_id){pid, false});
        hu_builder_memory(r->b, &m);
        hu_builder_info(r->b)->has_memory = true;
    }
}

void nsight_read_gpu(nsight_reader *r)
{
    event_records records = {0};

    read_calls(r);
    read_kernels(r);
    read_copies(r, "CUPTI_ACTIVITY_KIND_MEMCPY", false);
    read_copies(r, "CUPTI_ACTIVITY_KIND_MEMSET", true);
    read_graphs(r);
    if (!read_records(r, &records) && !r->error.code)
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    read_waits(r, &records);
    read_memory(r);
}
