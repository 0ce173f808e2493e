/* SPDX-License-Identifier: Apache-2.0
 * rocm.c - rows of ROCm's profilers as slices, named as PyTorch's profiler names them, so that every question has one answer
 * for both.
 *
 * Traps: a grid is counted in work items, not in groups; kernels that copy or fill memory ("__amd_rocclr_copyBuffer") are
 * kernels there too; a marker without a length is a point and no range.
 */
#include "ingest/rocm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/number.h"
#include "ingest/producers.h"

enum { MOST_DEVICES = 1024 };

static const int64_t WEEK_NS = INT64_C(7) * 24 * 3600 * 1000000000, MOST_BYTES = INT64_C(1) << 50;

bool rocm_init(rocm_reader *r, hu_builder *b, hu_arena *arena)
{
    *r = (rocm_reader){.b = b, .arena = arena};
    return hu_map_init(&r->devices, arena, 32) && hu_map_init(&r->pids, arena, 16);
}

static void no_memory(rocm_reader *r)
{
    hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
}

static bool is_time(int64_t ns)
{
    return ns > 0 && ns < INT64_MAX / 2;
}

/* False: counted, and not to be used. */
static bool take_times(rocm_reader *r, const rocm_when *when, bool is_device, hu_builder_slice *out)
{
    hu_quality *q = hu_builder_quality(r->b);

    q->events++;
    if (!is_time(when->start_ns) || !is_time(when->end_ns)) {
        const bool is_zero = is_device && (when->start_ns == 0 || when->end_ns == 0);

        hu_quality_count(q, is_zero ? HU_REASON_ZERO_TIME : HU_REASON_NO_TIME, 0);
        return false;
    }
    if (when->end_ns < when->start_ns)
        hu_quality_count(q, HU_REASON_NEGATIVE_DURATION, when->start_ns - when->end_ns);
    out->start_ns = when->start_ns;
    out->dur_ns = when->end_ns > when->start_ns ? when->end_ns - when->start_ns : 0;
    if (out->dur_ns > WEEK_NS) {
        hu_quality_count(q, HU_REASON_ABSURD_DURATION, 0);
        return false;
    }
    q->duration_sum_ns += out->dur_ns;
    out->correlation = when->correlation > 0 ? (uint64_t)when->correlation : 0;
    return true;
}

static void note_pid(rocm_reader *r, int64_t pid)
{
    uint32_t *place = hu_map_put(&r->pids, (uint64_t)pid);

    if (place)
        *place = 0;
    else
        no_memory(r);
}

/* Devices */

int64_t rocm_memory_of(hu_str banks)
{
    enum { PUBLIC = 1, PRIVATE = 2 }; /* heaps of the frame buffer */
    hu_json j = hu_json_enter(banks.n ? banks : HU_STR("[]"));
    hu_str  bank;
    int64_t sum = 0;

    while (hu_json_element(&j, &bank)) {
        const hu_str type = hu_json_get(bank, HU_STR("heap_type")), size = hu_json_get(bank, HU_STR("size_in_bytes"));
        int64_t      heap, bytes;

        if (type.p && size.p && hu_parse_i64(type, &heap) && (heap == PUBLIC || heap == PRIVATE) &&
            hu_parse_i64(size, &bytes) && bytes > 0 && bytes < MOST_BYTES && sum < MOST_BYTES)
            sum += bytes;
    }
    return sum;
}

static void describe_device(rocm_reader *r, const rocm_agent *agent)
{
    hu_device d = {.id = agent->number,
                   .name = agent->name.n ? hu_builder_intern(r->b, agent->name) : 0,
                   .memory_bytes = agent->memory_bytes > 0 && agent->memory_bytes < MOST_BYTES ? agent->memory_bytes : 0};

    if (agent->units > 0 && agent->units < 65536)
        d.sm_count = (int32_t)agent->units;
    if (agent->wave > 0 && agent->wave <= 1024)
        d.warp_size = (int32_t)agent->wave;
    if (d.warp_size && agent->waves_per_unit > 0 && agent->waves_per_unit <= 1024)
        d.max_threads_per_sm = (int32_t)agent->waves_per_unit * d.warp_size;
    hu_builder_device(r->b, &d);
}

void rocm_add_agent(rocm_reader *r, const rocm_agent *agent)
{
    uint32_t *place;

    if (agent->number < 0 || agent->number >= MOST_DEVICES)
        return;
    place = hu_map_put(&r->devices, (uint64_t)agent->agent);
    if (!place) {
        no_memory(r);
        return;
    }
    *place = (uint32_t)agent->number;
    if (!hu_builder_device_of(r->b, agent->number))
        describe_device(r, agent);
}

int64_t rocm_device_of(const rocm_reader *r, int64_t agent)
{
    const uint32_t number = hu_map_get(&r->devices, (uint64_t)agent);

    return number == HU_MAP_NONE ? -1 : (int64_t)number;
}

/* Kernels */

uint32_t rocm_kernel_name(rocm_reader *r, hu_str name)
{
    static const hu_str ends[] = {{" [clone .kd]", 12}, {" (.kd)", 6}, {".kd", 3}};

    for (size_t i = 0; i < HU_COUNT(ends); i++)
        if (name.n > ends[i].n && hu_str_ends(name, ends[i])) {
            name.n -= ends[i].n;
            break;
        }
    return hu_builder_intern(r->b, name);
}

static uint32_t size_of(int64_t v)
{
    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static void shape(const rocm_reader *r, const rocm_kernel *k, hu_kernel_detail *d)
{
    const hu_device *at = hu_builder_device_of(r->b, k->device);
    double           groups = 1, items = 1;

    for (int i = 0; i < 3; i++) {
        const uint32_t items_of = size_of(k->grid[i]), group = size_of(k->group[i]);

        d->block[i] = (uint16_t)(group <= UINT16_MAX ? group : 0);
        d->grid[i] = group ? (uint32_t)(((uint64_t)items_of + group - 1) / group) : 0;
        groups *= d->grid[i];
        items *= group;
    }
    if (!at || at->sm_count <= 0 || at->warp_size <= 0 || groups <= 0 || items <= 0)
        return;
    d->blocks_per_sm = (float)(groups / at->sm_count);
    d->warps_per_sm = (float)(groups / at->sm_count * items / at->warp_size);
}

void rocm_add_kernel(rocm_reader *r, const rocm_kernel *k)
{
    hu_builder_slice s = {.kind = HU_KIND_KERNEL, .name = k->name};
    hu_kernel_detail d = {.blocks_per_sm = (float)NAN,
                          .warps_per_sm = (float)NAN,
                          .occupancy_pct = (float)NAN,
                          .priority = INT32_MIN,
                          .registers = (uint16_t)(k->registers > 0 && k->registers <= UINT16_MAX ? k->registers : 0),
                          .shared_bytes = size_of(k->shared_bytes)};

    if (!rocm_wants(r, k->when.pid) || !take_times(r, &k->when, true, &s))
        return;
    shape(r, k, &d);
    if (k->mangled)
        hu_builder_alias(r->b, HU_ALIAS_MANGLED, s.name, k->mangled);
    if (hu_producers_is_comm(hu_builder_text(r->b, s.name)))
        s.kind = HU_KIND_COLLECTIVE;
    s.detail = hu_builder_kernel_detail(r->b, &d);
    s.track = hu_builder_stream(r->b, (hu_builder_id){k->when.pid, false}, k->device, k->stream);
    hu_builder_add(r->b, &s);
    note_pid(r, k->when.pid);
}

/* Copies */

static const char *direction_of(hu_str words)
{
    static const struct {
        hu_str      part;
        const char *name;
    } directions[] = {
        {{"HOST_TO_HOST", 12}, "Memcpy HtoH (Host -> Host)"},
        {{"HOST_TO_DEVICE", 14}, "Memcpy HtoD (Host -> Device)"},
        {{"DEVICE_TO_HOST", 14}, "Memcpy DtoH (Device -> Host)"},
        {{"DEVICE_TO_DEVICE", 16}, "Memcpy DtoD (Device -> Device)"},
        {{"HostToHost", 10}, "Memcpy HtoH (Host -> Host)"},
        {{"HostToDevice", 12}, "Memcpy HtoD (Host -> Device)"},
        {{"DeviceToHost", 12}, "Memcpy DtoH (Device -> Host)"},
        {{"DeviceToDevice", 14}, "Memcpy DtoD (Device -> Device)"},
    };

    for (size_t i = 0; i < HU_COUNT(directions); i++)
        if (hu_str_has(words, directions[i].part))
            return directions[i].name;
    return "Memcpy Unknown";
}

void rocm_add_copy(rocm_reader *r, const rocm_copy *c)
{
    const bool       is_peer = c->from >= 0 && c->to >= 0 && c->from != c->to;
    hu_builder_slice s = {.kind = HU_KIND_MEMCPY};
    hu_copy_detail   d = {.bytes = c->bytes >= 0 && c->bytes < MOST_BYTES ? c->bytes : -1,
                          .gbps = NAN,
                          .from_device = (int32_t)c->from,
                          .to_device = (int32_t)c->to};

    if (!rocm_wants(r, c->when.pid) || !take_times(r, &c->when, true, &s))
        return;
    if (d.bytes >= 0 && s.dur_ns > 0)
        d.gbps = (double)d.bytes / (double)s.dur_ns;
    s.name = hu_builder_intern(r->b,
                               is_peer ? HU_STR("Memcpy PtoP (Device -> Device)") : hu_str_of(direction_of(c->direction)));
    s.detail = hu_builder_copy_detail(r->b, &d);
    s.track = hu_builder_stream(r->b, (hu_builder_id){c->when.pid, false}, c->from >= 0 ? c->from : c->to, c->stream);
    hu_builder_add(r->b, &s);
    note_pid(r, c->when.pid);
}

/* Calls and ranges */

static bool is_marker(const rocm_call *c)
{
    return hu_str_starts(c->domain, HU_STR("MARKER_CORE")) || hu_str_starts(c->domain, HU_STR("ROCTX")) ||
           hu_str_equal(c->domain, HU_STR("rocm_marker_api"));
}

static hu_kind kind_of(const rocm_call *c)
{
    static const struct {
        hu_str  part;
        hu_kind kind;
    } names[] = {{{"hip", 3}, HU_KIND_RUNTIME},  {{"__hip", 5}, HU_KIND_RUNTIME}, {{"hsa_", 4}, HU_KIND_DRIVER},
                 {{"nccl", 4}, HU_KIND_RUNTIME}, {{"roctx", 5}, HU_KIND_RUNTIME}, {{"roc", 3}, HU_KIND_RUNTIME}},
      domains[] = {{{"HIP_", 4}, HU_KIND_RUNTIME},        {{"HSA_", 4}, HU_KIND_DRIVER},
                   {{"RCCL_", 5}, HU_KIND_RUNTIME},       {{"MARKER_", 7}, HU_KIND_RUNTIME},
                   {{"ROCDECODE_", 10}, HU_KIND_RUNTIME}, {{"ROCJPEG_", 8}, HU_KIND_RUNTIME}};

    for (size_t i = 0; i < HU_COUNT(domains); i++)
        if (hu_str_starts(c->domain, domains[i].part))
            return domains[i].kind;
    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_starts(c->name, names[i].part))
            return names[i].kind;
    return HU_KIND_USER;
}

static uint32_t thread_of(rocm_reader *r, int64_t pid, int64_t tid)
{
    return hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){pid, false}, (hu_builder_id){tid, false});
}

void rocm_add_call(rocm_reader *r, const rocm_call *c)
{
    const bool       is_range = is_marker(c) && c->message.n > 0;
    hu_builder_slice s = {.kind = is_range ? HU_KIND_USER : kind_of(c), .detail = HU_NONE};

    if (!rocm_wants(r, c->when.pid))
        return;
    if (is_range && c->when.start_ns == c->when.end_ns) { /* a mark */
        hu_builder_quality(r->b)->events++;
        return;
    }
    if (!take_times(r, &c->when, false, &s))
        return;
    s.name = hu_builder_intern(r->b, is_range ? c->message : c->name);
    if (s.kind == HU_KIND_USER)
        s.correlation = 0;
    if (is_range && c->overlaps) {
        if (!hu_vec_push(r->arena, &r->ranges, ((rocm_range){s, c->when.pid})))
            no_memory(r);
        return;
    }
    s.track = thread_of(r, c->when.pid, c->when.tid);
    hu_builder_add(r->b, &s);
}

void rocm_add_allocation(rocm_reader *r, const rocm_allocation *a)
{
    hu_builder_quality(r->b)->events++;
    if (!is_time(a->time_ns)) {
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_NO_TIME, 0);
        return;
    }
    if (rocm_wants(r, a->pid) && a->bytes < MOST_BYTES && !hu_vec_push(r->arena, &r->allocations, *a))
        no_memory(r);
}

void rocm_name_process(rocm_reader *r, int64_t pid, hu_str command)
{
    const char *end = command.n ? memchr(command.p, ' ', command.n) : NULL;
    hu_str      name = {command.p, end ? (size_t)(end - command.p) : command.n};

    name = hu_str_base_name(name);
    if (name.n && rocm_wants(r, pid))
        hu_builder_name_process(r->b, (hu_builder_id){pid, false}, hu_builder_intern(r->b, name));
}

void rocm_warn(rocm_reader *r, const char *words)
{
    hu_quality  *q = hu_builder_quality(r->b);
    const size_t n = strlen(q->warned);

    if (n + strlen(words) + 3 < sizeof q->warned)
        snprintf(q->warned + n, sizeof q->warned - n, "%s%s", n ? "; " : "", words);
}

/* What needs all rows */

static int by_start(const void *a, const void *b)
{
    const rocm_range *x = a, *y = b;

    if (x->slice.start_ns != y->slice.start_ns)
        return x->slice.start_ns < y->slice.start_ns ? -1 : 1;
    return (x->slice.dur_ns < y->slice.dur_ns) - (x->slice.dur_ns > y->slice.dur_ns);
}

/* Each lies on a row of its process where no other is at that time. */
static void place_ranges(rocm_reader *r)
{
    typedef struct {
        int64_t  pid, until_ns;
        uint32_t track;
    } row;
    HU_VEC(row) rows = {0};

    if (r->ranges.n)
        qsort(r->ranges.at, r->ranges.n, sizeof *r->ranges.at, by_start);
    for (size_t i = 0; i < r->ranges.n; i++) {
        rocm_range *range = &r->ranges.at[i];
        size_t      k = 0, used = 0;

        for (; k < rows.n && (rows.at[k].pid != range->pid || rows.at[k].until_ns > range->slice.start_ns); k++)
            used += rows.at[k].pid == range->pid;
        if (k == rows.n) {
            char     name[48];
            uint32_t text, track;

            snprintf(name, sizeof name, used ? "roctx ranges %zu" : "roctx ranges", used + 1);
            text = hu_builder_intern(r->b, hu_str_of(name));
            track = hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){range->pid, false}, (hu_builder_id){text, true});
            if (!hu_vec_push(r->arena, &rows, ((row){range->pid, 0, track}))) {
                no_memory(r);
                return;
            }
        }
        rows.at[k].until_ns = range->slice.start_ns + range->slice.dur_ns;
        range->slice.track = rows.at[k].track;
        hu_builder_add(r->b, &range->slice);
    }
}

static int by_time(const void *a, const void *b)
{
    const rocm_allocation *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->bytes >= 0) - (y->bytes >= 0); /* an address is free before it is taken again */
}

/* A release names an address, so what was taken there last is what goes. */
static void add_memory(rocm_reader *r)
{
    const uint32_t NOT_LIVE = HU_MAP_NONE - 1;
    hu_map         live;

    if (!r->allocations.n)
        return;
    qsort(r->allocations.at, r->allocations.n, sizeof *r->allocations.at, by_time);
    if (!hu_map_init(&live, r->arena, 64)) {
        no_memory(r);
        return;
    }
    for (size_t i = 0; i < r->allocations.n; i++) {
        const rocm_allocation *a = &r->allocations.at[i], *taken = a;
        uint32_t              *place = hu_map_put(&live, a->address ^ (uint64_t)a->pid << 48);

        if (!place) {
            no_memory(r);
            return;
        }
        if (a->bytes < 0) {
            const uint32_t at = *place;

            *place = NOT_LIVE;
            if (at >= r->allocations.n)
                continue; /* of the host, or from before the capture */
            taken = &r->allocations.at[at];
        } else {
            *place = a->device >= 0 ? (uint32_t)i : NOT_LIVE;
            if (a->device < 0)
                continue;
        }
        hu_builder_memory(r->b, &(hu_memory_event){.time_ns = a->time_ns,
                                                   .track = thread_of(r, a->pid, a->tid),
                                                   .device_type = 1, /* as PyTorch calls GPUs of AMD too */
                                                   .device = taken->device,
                                                   .address = a->address,
                                                   .bytes = a->bytes < 0 ? -taken->bytes : a->bytes,
                                                   .total_allocated = -1,
                                                   .total_reserved = -1});
        hu_builder_info(r->b)->has_memory = true;
    }
}

void rocm_finish(rocm_reader *r)
{
    char words[96];

    place_ranges(r);
    add_memory(r);
    if (r->pids.n > 1) {
        snprintf(words, sizeof words, "GPU work of %zu processes is in this file, and counted as that of one rank",
                 r->pids.n);
        rocm_warn(r, words);
    }
}
