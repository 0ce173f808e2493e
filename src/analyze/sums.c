/* SPDX-License-Identifier: Apache-2.0
 * sums.c - groups slices by what a report calls them. */
#include "analyze/sums.h"

#include <stdlib.h>

#include "base/intern.h"
#include "base/map.h"

enum { RANGES = HU_BIT(USER) | HU_BIT(CPU_OP) | HU_BIT(MPI) };

const hu_sums_report hu_sums_reports[] = {
    {"nvtx_sum", "NVTX Range Summary", "Instances", RANGES, HU_SUMS_STYLE_RANGE, false, false},
    {"osrt_sum", "OS Runtime Summary", "Num Calls", HU_BIT(OS_CALL), HU_SUMS_NAME, false, false},
    {"cuda_api_sum", "CUDA API Summary", "Num Calls", HU_KINDS_CALL, HU_SUMS_NAME, false, false},
    {"cuda_gpu_kern_sum", "CUDA GPU Kernel Summary", "Instances", HU_KINDS_COMPUTE | HU_KINDS_COMM, HU_SUMS_NAME, false,
     false, HU_NAMING_KERNELS},
    {"cuda_gpu_mem_time_sum", "CUDA GPU MemOps Summary (by Time)", "Count", HU_KINDS_COPY, HU_SUMS_OPERATION, false, false},
    {"cuda_gpu_mem_size_sum", "CUDA GPU MemOps Summary (by Size)", "Count", HU_KINDS_COPY, HU_SUMS_OPERATION, true, false},
    {"cuda_gpu_sum", "CUDA GPU Summary (Kernels/MemOps)", "Instances", HU_KINDS_DEVICE, HU_SUMS_CATEGORY_OPERATION, false,
     false, HU_NAMING_KERNELS},
    {"openmp_sum", "OpenMP Summary", "Count", HU_BIT(OPENMP), HU_SUMS_NAME, false, false},
    {"openacc_sum", "OpenACC Summary", "Num Calls", HU_BIT(OPENACC), HU_SUMS_NAME, false, false},
    {"cuda_api_gpu_sum", "CUDA Summary (API/Kernels/MemOps)", "Instances", HU_KINDS_CALL | HU_KINDS_DEVICE,
     HU_SUMS_CATEGORY_OPERATION, false, true, HU_NAMING_KERNELS},
    {"mpi_event_sum", "MPI Event Summary", "Instances", HU_BIT(MPI), HU_SUMS_NAME, false, true},
    {"nvtx_pushpop_sum", "NVTX Push/Pop Range Summary", "Instances", RANGES, HU_SUMS_PUSHED, false, true},
    {"nvtx_startend_sum", "NVTX Start/End Range Summary", "Instances", RANGES, HU_SUMS_STARTED, false, true},
};
const size_t hu_sums_n_reports = HU_COUNT(hu_sums_reports);

const hu_sums_report *hu_sums_find(hu_str key)
{
    for (size_t i = 0; i < hu_sums_n_reports; i++)
        if (hu_str_equal(key, hu_str_of(hu_sums_reports[i].key)))
            return &hu_sums_reports[i];
    return NULL;
}

hu_str hu_sums_operation(hu_str name, hu_kind kind)
{
    static const struct {
        hu_str mark, words;
    } directions[] = {
        {{"HtoD", 4}, {"[CUDA memcpy Host-to-Device]", 28}},   {{"DtoH", 4}, {"[CUDA memcpy Device-to-Host]", 28}},
        {{"DtoD", 4}, {"[CUDA memcpy Device-to-Device]", 30}}, {{"HtoH", 4}, {"[CUDA memcpy Host-to-Host]", 26}},
        {{"PtoP", 4}, {"[CUDA memcpy Peer-to-Peer]", 26}},     {{"HtoA", 4}, {"[CUDA memcpy Host-to-Array]", 27}},
        {{"AtoH", 4}, {"[CUDA memcpy Array-to-Host]", 27}},    {{"AtoA", 4}, {"[CUDA memcpy Array-to-Array]", 28}},
        {{"AtoD", 4}, {"[CUDA memcpy Array-to-Device]", 29}},  {{"DtoA", 4}, {"[CUDA memcpy Device-to-Array]", 29}},
    };

    if (kind == HU_KIND_MEMSET)
        return HU_STR("[CUDA memset]");
    for (size_t i = 0; i < HU_COUNT(directions); i++)
        if (hu_str_has(name, directions[i].mark))
            return directions[i].words;
    return name;
}

/* The values of a row while they are collected. */
typedef struct {
    hu_str name, group;
    HU_VEC(int64_t) values;
} group;

typedef struct {
    const hu_sums_report *report;
    hu_naming            *naming;
    hu_arena             *arena;
    hu_intern             names;
    hu_map                group_of; /* name and group's text -> row */
    HU_VEC(group) groups;
} work;

static group *find_group(work *w, hu_str name, hu_str of)
{
    const uint32_t id = hu_intern_add(&w->names, name), group_id = hu_intern_add(&w->names, of);
    uint32_t      *place;

    if (id == UINT32_MAX || group_id == UINT32_MAX)
        return NULL;
    place = hu_map_put(&w->group_of, (uint64_t)group_id << 32 | id);
    if (!place)
        return NULL;
    if (*place == HU_MAP_NONE) {
        if (!hu_vec_push(w->arena, &w->groups, ((group){.name = hu_intern_get(&w->names, id), .group = of})))
            return NULL;
        *place = (uint32_t)w->groups.n - 1;
    }
    return &w->groups.at[*place];
}

static bool take_slice(work *w, const hu_trace *t, const hu_track *tracks, const hu_slices *s, uint32_t i)
{
    const hu_kind kind = (hu_kind)s->kind[i];
    const bool    is_started = tracks[s->track[i]].tid_is_text;
    hu_str        name = hu_trace_text(t, s->name[i]), of = HU_STR("");
    int64_t       value = s->dur_ns[i];
    group        *g;

    if (hu_kind_in(kind, HU_KINDS_COPY))
        name = hu_sums_operation(name, kind);
    else if (hu_kind_in(kind, HU_KINDS_DEVICE))
        name = hu_naming_kernel(w->naming, t, s, i);
    else if (w->report->label >= HU_SUMS_STYLE_RANGE)
        name = hu_naming_range(t, s->name[i]);
    if (w->report->label == HU_SUMS_CATEGORY_OPERATION)
        of = hu_kind_in(kind, HU_KINDS_COPY)   ? HU_STR("MEMORY_OPER")
             : hu_kind_in(kind, HU_KINDS_CALL) ? HU_STR("CUDA_API")
                                               : HU_STR("CUDA_KERNEL");
    else if (w->report->label == HU_SUMS_STYLE_RANGE)
        of = is_started ? HU_STR("StartEnd") : HU_STR("PushPop");
    else if (w->report->label == (is_started ? HU_SUMS_PUSHED : HU_SUMS_STARTED))
        return true;
    if (w->report->in_bytes) {
        value = s->detail[i] == HU_NONE ? -1 : hu_trace_copy_detail(t, s->detail[i])->bytes;
        if (value < 0)
            return true;
    }
    g = find_group(w, name, of);
    return g && hu_vec_push(w->arena, &g->values, value);
}

/* Operators and calls of MPI are ranges only where ranges are what they were recorded as. */
static bool takes(const hu_sums_report *report, const hu_trace *t, const hu_track *tracks, const hu_slices *s, uint32_t i)
{
    if (!hu_kind_in(s->kind[i], report->kinds))
        return false;
    return report->label < HU_SUMS_STYLE_RANGE || tracks[s->track[i]].tid_is_text || hu_naming_is_range(t, s, i);
}

static int by_total(const void *a, const void *b)
{
    const hu_sum *x = a, *y = b;

    if (x->stats.sum != y->stats.sum)
        return x->stats.sum > y->stats.sum ? -1 : 1;
    return hu_str_compare(x->name, y->name);
}

bool hu_sums_measure(const hu_sums_report *report, hu_trace *const *traces, size_t n, hu_naming *naming, hu_arena *arena,
                     hu_sums *out)
{
    work w = {.report = report, .naming = naming, .arena = arena};

    *out = (hu_sums){0};
    if (!hu_intern_init(&w.names, arena) || !hu_map_init(&w.group_of, arena, 256))
        return false;
    for (size_t t = 0; t < n; t++) {
        const hu_slices s = hu_trace_slices(traces[t]);
        size_t          n_tracks;
        const hu_track *tracks = hu_trace_tracks(traces[t], &n_tracks);

        for (uint32_t i = 0; i < s.n; i++)
            if (takes(report, traces[t], tracks, &s, i) && !take_slice(&w, traces[t], tracks, &s, i))
                return false;
    }
    out->at = hu_arena_calloc(arena, w.groups.n + 1, sizeof *out->at);
    if (!out->at)
        return false;
    for (; out->n < w.groups.n; out->n++) {
        group *g = &w.groups.at[out->n];

        out->at[out->n] = (hu_sum){g->name, g->group, hu_stats_of(g->values.at, g->values.n)};
        out->total += out->at[out->n].stats.sum;
    }
    if (out->n)
        qsort(out->at, out->n, sizeof *out->at, by_total);
    return naming->has_memory;
}
