/* SPDX-License-Identifier: Apache-2.0
 * nsight_about.c - where and by what the export was made: version, host, devices, names of processes and threads, ranks. */
#include <stdio.h>

#include "base/number.h"
#include "ingest/nsight.h"

static void read_strings(nsight_reader *r)
{
    enum { ID, VALUE };
    static const char *const columns[] = {"id", "value", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "StringIds", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        uint32_t *place = hu_map_put(&r->strings, (uint64_t)nsight_int(&rows, ID, 0));

        if (place)
            *place = hu_builder_intern(r->b, nsight_text(&rows, VALUE));
        else
            hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    }
}

static void read_tool(nsight_reader *r)
{
    hu_trace_info *info = hu_builder_info(r->b);
    hu_str         version = nsight_find(r, "META_DATA_EXPORT", "name", "EXPORT_PRODUCT_VERSION", "value");
    hu_str         cores = nsight_find(r, "TARGET_INFO_SYSTEM_ENV", "name", "CpuCores", "value");
    int64_t        n;
    char           text[128];

    if (!version.n)
        version = nsight_find(r, "EXPORT_META_DATA", "name", "EXPORT_PRODUCT_VERSION", "value"); /* until 2023 */
    snprintf(text, sizeof text, "NVIDIA Nsight Systems%s%.*s", version.n ? " " : "", (int)(version.n < 64 ? version.n : 64),
             version.p);
    info->tool = hu_builder_keep(r->b, hu_str_of(text));
    info->host = hu_builder_keep(r->b, nsight_find(r, "TARGET_INFO_SYSTEM_ENV", "name", "Hostname", "value"));
    if (info->cpus == 0 && hu_parse_i64(cores, &n) && n > 0 && n < 100000)
        info->cpus = n;
}

static void read_start(nsight_reader *r)
{
    static const char *const columns[] = {"utcEpochNs", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "TARGET_INFO_SESSION_START_TIME", columns, NULL))
        return;
    while (nsight_next(&rows))
        hu_builder_info(r->b)->base_ns = nsight_int(&rows, 0, 0);
}

/* The runtime's number of a GPU, where an export tells: that is what rows of the device have. */
static int64_t runtime_id(nsight_reader *r, int64_t gpu)
{
    enum { GPU, RUNTIME, PID };
    static const char *const columns[] = {"gpuId", "cudaId", "pid", NULL};
    nsight_rows              rows;
    int64_t                  found = gpu;

    if (!nsight_begin(r, &rows, "TARGET_INFO_CUDA_DEVICE", columns, NULL))
        return found;
    while (nsight_next(&rows))
        if (nsight_int(&rows, GPU, -1) == gpu && nsight_wants(r, nsight_int(&rows, PID, 0)))
            found = nsight_int(&rows, RUNTIME, gpu);
    return found;
}

static void read_devices(nsight_reader *r)
{
    enum { ID, NAME, MEMORY, PROCESSORS, WARP, WARPS, MAJOR, MINOR };
    static const char *const columns[] = {
        "id", "name", "totalMemory", "smCount", "threadsPerWarp", "maxWarpsPerSm", "computeMajor", "computeMinor", NULL};
    nsight_rows rows;

    if (!nsight_begin(r, &rows, "TARGET_INFO_GPU", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        hu_device     d = {.id = runtime_id(r, nsight_int(&rows, ID, -1)),
                           .name = hu_builder_intern(r->b, nsight_text(&rows, NAME)),
                           .memory_bytes = nsight_int(&rows, MEMORY, 0),
                           .sm_count = nsight_int32(&rows, PROCESSORS, 0),
                           .major = nsight_int32(&rows, MAJOR, 0),
                           .minor = nsight_int32(&rows, MINOR, 0),
                           .warp_size = nsight_int32(&rows, WARP, 0)};
        const int32_t warps = nsight_int32(&rows, WARPS, 0);

        d.max_threads_per_sm = warps > 0 && warps <= 1024 && d.warp_size > 0 && d.warp_size <= 1024 ? warps * d.warp_size
                                                                                                    : 0;
        hu_builder_device(r->b, &d);
    }
}

static void read_processes(nsight_reader *r)
{
    enum { PROCESS, NAME };
    static const char *const columns[] = {"globalPid", "name", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "PROCESSES", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t pid = nsight_pid(nsight_int(&rows, PROCESS, 0));

        if (hu_map_get(&r->parts, (uint64_t)pid) != HU_MAP_NONE)
            hu_builder_name_process(r->b, (hu_builder_id){pid, false}, hu_builder_intern(r->b, nsight_text(&rows, NAME)));
    }
}

static void read_thread_names(nsight_reader *r)
{
    enum { THREAD, NAME };
    static const char *const columns[] = {"globalTid", "nameId", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "ThreadNames", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t thread = nsight_int(&rows, THREAD, 0), pid = nsight_pid(thread);

        if (hu_map_get(&r->parts, (uint64_t)pid) != HU_MAP_NONE)
            hu_builder_name_thread(r->b, (hu_builder_id){pid, false}, (hu_builder_id){nsight_tid(thread), false},
                                   nsight_string(&rows, NAME));
    }
}

static void read_rank(nsight_reader *r)
{
    enum { THREAD, RANK };
    static const char *const columns[] = {"globalTid", "rank", NULL};
    nsight_rows              rows;
    int64_t                  rank = -1, n = 0;

    if (!nsight_begin(r, &rows, "MPI_RANKS", columns, NULL))
        return;
    while (nsight_next(&rows))
        if (nsight_wants(r, nsight_pid(nsight_int(&rows, THREAD, 0)))) {
            rank = nsight_int(&rows, RANK, -1);
            n++;
        }
    if (n == 1)
        hu_builder_info(r->b)->rank = rank;
}

/* Errors, and warnings of losses; that a child used no CUDA is none. */
static bool is_worth_saying(int64_t severity, hu_str text)
{
    enum { WARNING = 2, ERROR = 3 };
    static const hu_str words[] = {{"not all ", 8},    {"lost", 4},     {"drop", 4},
                                   {"incomplete", 10}, {"overflow", 8}, {"too many", 8}};

    if (severity == ERROR)
        return true;
    for (size_t i = 0; severity == WARNING && i < HU_COUNT(words); i++)
        if (hu_str_has_lower(text, words[i]))
            return true;
    return false;
}

/* What nsys says of its own capture, each text once. */
static void read_diagnostics(nsight_reader *r)
{
    enum { SEVERITY, TEXT, PROCESS };
    static const char *const columns[] = {"severity", "text", "globalPid", NULL};
    hu_quality              *q = hu_builder_quality(r->b);
    size_t                   n = 0;
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "DIAGNOSTIC_EVENT", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t pid = nsight_pid(nsight_int(&rows, PROCESS, 0)); /* 0: of the machine */
        hu_str        text = nsight_text(&rows, TEXT);

        while (text.n && (text.p[text.n - 1] == '.' || text.p[text.n - 1] == '\n'))
            text.n--;
        if (!text.n || !is_worth_saying(nsight_int(&rows, SEVERITY, 0), text) ||
            (pid && hu_map_get(&r->parts, (uint64_t)pid) == HU_MAP_NONE) || hu_str_has((hu_str){q->warned, n}, text) ||
            n + text.n + 3 > sizeof q->warned)
            continue;
        n += (size_t)snprintf(q->warned + n, sizeof q->warned - n, "%s%.*s", n ? "; " : "", HU_FMT(text));
    }
}

void nsight_read_about(nsight_reader *r)
{
    read_strings(r);
    read_tool(r);
    read_start(r);
    read_devices(r);
    read_rank(r);
}

void nsight_read_names(nsight_reader *r)
{
    read_processes(r);
    read_thread_names(r);
    read_diagnostics(r);
}
