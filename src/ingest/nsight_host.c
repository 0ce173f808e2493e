/* SPDX-License-Identifier: Apache-2.0
 * nsight_host.c - calls of the C library, of MPI and of CUDA's libraries, the profiler's own work, and metrics of the
 * GPU. */
#include <stdio.h>

#include "ingest/nsight.h"
#include "ingest/producers.h"
#include "protocol/os_calls.h"

static const char *const class_keys[] = {
#define C(id, name) name,
    HU_OS_CLASSES(C)
#undef C
};

static const struct {
    const char *name;
    hu_os_class class;
} os_calls[] = {
#define C(name, class) {#name, HU_OS_##class},
    HU_OS_CALLS(C)
#undef C
};

/* "open64" and "__read" are "open" and "read". */
static hu_str plain_name(hu_str name)
{
    while (name.n && name.p[0] == '_')
        name = (hu_str){name.p + 1, name.n - 1};
    if (hu_str_ends(name, HU_STR("64")))
        name.n -= 2;
    return name;
}

static hu_host_class class_of(hu_str name)
{
    const hu_str plain = plain_name(name);

    for (size_t i = 0; i < HU_COUNT(os_calls); i++)
        if (hu_str_equal(plain, hu_str_of(os_calls[i].name)))
            return hu_producers_host_class(hu_str_of(class_keys[os_calls[i].class]), plain);
    return hu_producers_host_class(HU_STR(""), plain);
}

static uint32_t thread_of(nsight_reader *r, int64_t global)
{
    return hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){nsight_pid(global), false},
                            (hu_builder_id){nsight_tid(global), false});
}

static void read_os_calls(nsight_reader *r)
{
    enum { START, END, THREAD, NAME };
    static const char *const columns[] = {"start", "end", "globalTid", "nameId", NULL};
    nsight_storms           *storms = nsight_storms_new(r, r->most_calls);
    nsight_rows              rows;
    hu_map                   details; /* by name: all that an export says of a call is its class, so that one row does */

    if (!hu_map_init(&details, r->arena, 64) || !nsight_begin(r, &rows, "OSRT_API", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t    thread = nsight_int(&rows, THREAD, 0);
        hu_builder_slice s = {.kind = HU_KIND_OS_CALL};
        uint32_t        *place;

        if (!nsight_wants(r, nsight_pid(thread)) || !nsight_times(r, &rows, START, END, &s))
            continue;
        s.name = nsight_string(&rows, NAME);
        if (hu_str_starts(hu_builder_text(r->b, s.name), HU_STR("OS runtime libraries profiling ")))
            continue; /* where recording began and ended: no call */
        nsight_take_part(r, nsight_pid(thread));
        place = hu_map_put(&details, s.name);
        if (!place) {
            hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
            continue;
        }
        if (*place == HU_MAP_NONE) {
            const hu_os_detail d = {.bytes = -1, .class = (uint8_t)class_of(hu_builder_text(r->b, s.name))};

            *place = hu_builder_os_detail(r->b, &d);
        }
        s.detail = *place;
        s.track = thread_of(r, thread);
        if (storms)
            nsight_storms_add(storms, &s);
        else
            hu_builder_add(r->b, &s);
    }
    if (storms)
        nsight_storms_end(storms);
}

/* How many ranks a communicator has, by its handle: of one process, which is what a file or a part of it has. */
static bool read_communicators(nsight_reader *r, hu_map *sizes)
{
    enum { HANDLE, SIZE };
    static const char *const columns[] = {"commHandle", "size", NULL};
    nsight_rows              rows;

    if (!hu_map_init(sizes, r->arena, 16)) {
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        return false;
    }
    if (!nsight_begin(r, &rows, "MPI_COMMUNICATORS", columns, NULL))
        return !r->error.code;
    while (nsight_next(&rows)) {
        uint32_t     *place = hu_map_put(sizes, (uint64_t)nsight_int(&rows, HANDLE, 0));
        const int64_t size = nsight_int(&rows, SIZE, 0);

        if (place)
            *place = size > 0 && size < INT32_MAX ? (uint32_t)size : 0;
    }
    return true;
}

/*
 * What one rank passes to the call.  nsys multiplies that by the ranks where every rank gets a copy, and gives the root of a
 * broadcast or scatter what goes to all ranks as its size, and to each rank what it gets as recvSize.
 */
static int64_t bytes_of_call(hu_str name, int64_t size, int64_t received, uint32_t ranks)
{
    static const hu_str copied[] = {
        {"MPI_Allreduce", 13}, {"MPI_Iallreduce", 14}, {"MPI_Allgather", 13}, {"MPI_Iallgather", 14}};
    static const hu_str given[] = {{"MPI_Bcast", 9}, {"MPI_Ibcast", 10}, {"MPI_Scatter", 11}, {"MPI_Iscatter", 12}};

    for (size_t i = 0; i < HU_COUNT(copied); i++)
        if (hu_str_equal(name, copied[i]))
            return size >= 0 && ranks && ranks != HU_MAP_NONE ? size / ranks : -1;
    for (size_t i = 0; i < HU_COUNT(given); i++)
        if (hu_str_equal(name, given[i]))
            return received;
    return size;
}

static void read_mpi(nsight_reader *r, const char *table, const hu_map *sizes)
{
    enum { START, END, THREAD, NAME, TAG, PEER, ROOT, SIZE, RECEIVED, COMM };
    static const char *const columns[] = {"start",    "end",  "globalTid", "textId",     "tag", "remoteRank",
                                          "rootRank", "size", "recvSize",  "commHandle", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, table, columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t    thread = nsight_int(&rows, THREAD, 0);
        hu_builder_slice s = {.kind = HU_KIND_MPI};
        hu_mpi_detail    d = {.peer = nsight_int32(&rows, PEER, -1),
                              .root = nsight_int32(&rows, ROOT, -1),
                              .tag = nsight_int32(&rows, TAG, INT32_MIN)};

        if (!nsight_wants(r, nsight_pid(thread)) || !nsight_times(r, &rows, START, END, &s))
            continue;
        nsight_take_part(r, nsight_pid(thread));
        d.peer = d.peer < 0 ? -1 : d.peer;
        d.root = d.root < 0 ? -1 : d.root;
        s.name = nsight_string(&rows, NAME);
        d.bytes = bytes_of_call(hu_builder_text(r->b, s.name), nsight_int(&rows, SIZE, -1), nsight_int(&rows, RECEIVED, -1),
                                hu_map_get(sizes, (uint64_t)nsight_int(&rows, COMM, 0)));
        s.detail = hu_builder_mpi_detail(r->b, &d);
        s.track = thread_of(r, thread);
        hu_builder_add(r->b, &s);
    }
}

/* Ranges that only have a name: calls of cuBLAS and cuDNN, and what the profiler itself did. */
static void read_named(nsight_reader *r, const char *table, hu_kind kind)
{
    enum { START, END, THREAD, NAME };
    static const char *const columns[] = {"start", "end", "globalTid", "nameId", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, table, columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t    thread = nsight_int(&rows, THREAD, 0), pid = nsight_pid(thread);
        hu_builder_slice s = {.kind = kind, .detail = HU_NONE};

        if (!nsight_wants(r, pid) || !nsight_times(r, &rows, START, END, &s))
            continue;
        s.name = nsight_string(&rows, NAME);
        s.track = hu_builder_track(r->b, kind == HU_KIND_OVERHEAD ? HU_TRACK_NOTE : HU_TRACK_HOST,
                                   (hu_builder_id){pid, false}, (hu_builder_id){nsight_tid(thread), false});
        hu_builder_add(r->b, &s);
    }
}

/* The name of a metric of a GPU: of each kind of source the lowest byte is the device. */
static bool name_metrics(nsight_reader *r, hu_map *names)
{
    enum { TYPE, METRIC, NAME };
    static const char *const columns[] = {"typeId", "metricId", "metricName", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "TARGET_INFO_GPU_METRICS", columns, NULL))
        return false;
    while (nsight_next(&rows)) {
        const uint64_t type = (uint64_t)nsight_int(&rows, TYPE, 0);
        uint32_t      *place = hu_map_put(names, type << 16 ^ (uint64_t)nsight_int(&rows, METRIC, 0));
        const hu_str   name = nsight_text(&rows, NAME);
        char           text[256];

        snprintf(text, sizeof text, "GPU %u: %.*s", (unsigned)(type & 0xff), (int)(name.n < 200 ? name.n : 200), name.p);
        if (place)
            *place = hu_builder_intern(r->b, hu_str_of(text));
    }
    return true;
}

static void read_metrics(nsight_reader *r)
{
    enum { TIME, TYPE, METRIC, VALUE };
    static const char *const columns[] = {"timestamp", "typeId", "metricId", "value", NULL};
    nsight_rows              rows;
    hu_map                   names;

    if (!hu_map_init(&names, r->arena, 64) || !name_metrics(r, &names) ||
        !nsight_begin(r, &rows, "GPU_METRICS", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const uint64_t type = (uint64_t)nsight_int(&rows, TYPE, 0);
        const uint32_t name = hu_map_get(&names, type << 16 ^ (uint64_t)nsight_int(&rows, METRIC, 0));
        const int64_t  ns = nsight_int(&rows, TIME, -1);

        hu_builder_quality(r->b)->events++;
        if (ns < 0 || name == HU_MAP_NONE)
            hu_quality_count(hu_builder_quality(r->b), ns < 0 ? HU_REASON_NO_TIME : HU_REASON_UNKNOWN_ID, 0);
        else
            hu_builder_sample(r->b, hu_builder_counter(r->b, (hu_builder_id){r->gpu_pid, false}, name), ns,
                              nsight_real(&rows, VALUE, 0));
    }
}

void nsight_read_host(nsight_reader *r)
{
    static const char *const mpi[] = {"MPI_COLLECTIVES_EVENTS", "MPI_P2P_EVENTS", "MPI_START_WAIT_EVENTS",
                                      "MPI_OTHER_EVENTS"};
    hu_map                   sizes;

    read_os_calls(r);
    if (!read_communicators(r, &sizes))
        return;
    for (size_t i = 0; i < HU_COUNT(mpi); i++)
        read_mpi(r, mpi[i], &sizes);
    read_named(r, "CUBLAS_EVENTS", HU_KIND_USER);
    read_named(r, "CUDNN_EVENTS", HU_KIND_USER);
    read_named(r, "PROFILER_OVERHEAD", HU_KIND_OVERHEAD);
    read_named(r, "CUPTI_ACTIVITY_KIND_OVERHEAD", HU_KIND_OVERHEAD);
    read_metrics(r);
}
