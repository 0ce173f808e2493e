/* SPDX-License-Identifier: Apache-2.0
 * nsight_directives.c - what OpenMP and OpenACC did on each thread, and page faults of managed memory. */
#include <stdio.h>

#include "ingest/nsight.h"

/* Tables OPENMP_EVENT_KIND_…; those that no report of nsys sums have no end. */
static const char *const openmp[] = {
    "CANCEL",           "CRITICAL_SECTION", "DISPATCH",       "FLUSH",      "LOCK_DESTROY",  "LOCK_INIT",
    "MASTER",           "MUTEX_RELEASED",   "MUTEX_WAIT",     "PARALLEL",   "REDUCTION",     "SYNC_REGION",
    "SYNC_REGION_WAIT", "TARGET",           "TARGET_DATA_OP", "TARGET_MAP", "TARGET_SUBMIT", "TASK",
    "TASK_CREATE",      "TASK_SCHEDULE",    "THREAD",         "WORKSHARE"};
static const char *const openacc[] = {"DATA", "LAUNCH", "OTHER"};

/* "Enqueue Launch@saxpy.c:9"; the event's name alone where no source is known. */
static uint32_t name_at(nsight_reader *r, hu_map *known, uint32_t event, uint32_t file, int64_t line)
{
    const hu_str name = hu_builder_text(r->b, event), source = hu_builder_text(r->b, file);
    const size_t room = name.n + source.n + 32;
    uint32_t    *place;
    hu_arena    *scratch;
    char        *text;

    if (!source.n || line < 0 || line > INT32_MAX)
        return event;
    place = hu_map_put(known, ((uint64_t)event << 32 | file) * 0x9e3779b97f4a7c15 + (uint64_t)line);
    if (place && *place != HU_MAP_NONE)
        return *place;
    scratch = place ? hu_arena_new() : NULL;
    text = scratch ? hu_arena_alloc(scratch, room) : NULL;
    if (text) {
        const int n = snprintf(text, room, "%.*s@%.*s:%lld", (int)name.n, name.p, (int)source.n, source.p, (long long)line);

        *place = hu_builder_intern(r->b, (hu_str){text, n > 0 ? (size_t)n : 0});
    } else {
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    }
    hu_arena_free(scratch);
    return text ? *place : event;
}

static void read_events(nsight_reader *r, const char *table, hu_kind kind, hu_map *names)
{
    enum { START, END, THREAD, NAME, FILE_NAME, LINE };
    static const char *const columns[] = {"start", "end", "globalTid", "nameId", "srcFile", "lineNo", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, table, columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t    thread = nsight_int(&rows, THREAD, 0), pid = nsight_pid(thread);
        hu_builder_slice s = {.kind = kind, .detail = HU_NONE};

        if (!nsight_wants(r, pid) || !nsight_times(r, &rows, START, END, &s))
            continue;
        s.name = name_at(r, names, nsight_string(&rows, NAME), nsight_string(&rows, FILE_NAME), nsight_int(&rows, LINE, -1));
        s.track = hu_builder_track(r->b, HU_TRACK_NOTE, (hu_builder_id){pid, false},
                                   (hu_builder_id){nsight_tid(thread), false});
        hu_builder_add(r->b, &s);
    }
}

static void read_host_faults(nsight_reader *r)
{
    enum { PROCESS, ADDRESS, INSTRUCTION };
    static const char *const columns[] = {"globalPid", "address", "CpuInstruction", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", columns, NULL))
        return;
    while (nsight_next(&rows))
        if (nsight_wants(r, nsight_pid(nsight_int(&rows, PROCESS, 0))))
            hu_builder_managed(r->b, &(hu_managed_event){.kind = HU_MANAGED_HOST_FAULT,
                                                         .address = (uint64_t)nsight_int(&rows, ADDRESS, 0),
                                                         .amount = 1,
                                                         .name = nsight_string(&rows, INSTRUCTION)});
}

static void read_device_faults(nsight_reader *r)
{
    enum { PROCESS, ADDRESS, COUNT };
    static const char *const columns[] = {"globalPid", "address", "numberOfPageFaults", NULL};
    nsight_rows              rows;

    if (!nsight_begin(r, &rows, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t count = nsight_int(&rows, COUNT, 0);

        if (nsight_wants(r, nsight_pid(nsight_int(&rows, PROCESS, 0))) && count > 0 && count < INT64_C(1) << 40)
            hu_builder_managed(r->b, &(hu_managed_event){.kind = HU_MANAGED_DEVICE_FAULT,
                                                         .address = (uint64_t)nsight_int(&rows, ADDRESS, 0),
                                                         .amount = count});
    }
}

void nsight_read_directives(nsight_reader *r)
{
    hu_map names;
    char   table[64];

    if (!hu_map_init(&names, r->arena, 0)) {
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        return;
    }
    for (size_t i = 0; i < HU_COUNT(openmp); i++) {
        snprintf(table, sizeof table, "OPENMP_EVENT_KIND_%s", openmp[i]);
        read_events(r, table, HU_KIND_OPENMP, &names);
    }
    for (size_t i = 0; i < HU_COUNT(openacc); i++) {
        snprintf(table, sizeof table, "CUPTI_ACTIVITY_KIND_OPENACC_%s", openacc[i]);
        read_events(r, table, HU_KIND_OPENACC, &names);
    }
    read_host_faults(r);
    read_device_faults(r);
}
