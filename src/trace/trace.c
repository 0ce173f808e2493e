/* SPDX-License-Identifier: Apache-2.0
 * trace.c - reading a frozen trace. */
#include "trace/trace.h"

#include "trace/columns.h"

hu_slices hu_trace_slices(const hu_trace *t)
{
    return (hu_slices){t->n,           t->start_ns, t->dur_ns, t->track,  t->name,
                       t->correlation, t->external, t->parent, t->detail, t->kind};
}

const hu_trace_info *hu_trace_get_info(const hu_trace *trace)
{
    return &trace->info;
}

const hu_quality *hu_trace_get_quality(const hu_trace *trace)
{
    return &trace->quality;
}

hu_str hu_trace_text(const hu_trace *trace, uint32_t id)
{
    return hu_intern_get(&trace->strings, id);
}

uint32_t hu_trace_string_count(const hu_trace *trace)
{
    return (uint32_t)trace->strings.entries.n;
}

uint32_t hu_trace_alias(const hu_trace *trace, hu_alias kind, uint32_t name)
{
    return hu_map_get(&trace->aliases, (uint64_t)kind << 32 | name); /* HU_MAP_NONE is HU_NONE */
}

uint32_t hu_trace_find_text(const hu_trace *trace, hu_str text)
{
    return hu_intern_find(&trace->strings, text);
}

const hu_track *hu_trace_tracks(const hu_trace *trace, size_t *n)
{
    *n = trace->tracks.n;
    return trace->tracks.at;
}

const uint32_t *hu_trace_order(const hu_trace *trace)
{
    return trace->order;
}

const hu_device *hu_trace_devices(const hu_trace *trace, size_t *n)
{
    *n = trace->devices.n;
    return trace->devices.at;
}

static bool is_alike(const hu_device *a, const hu_device *b)
{
    return a->name == b->name && a->memory_bytes == b->memory_bytes && a->sm_count == b->sm_count && a->major == b->major &&
           a->minor == b->minor && a->warp_size == b->warp_size && a->max_threads_per_sm == b->max_threads_per_sm;
}

const hu_device *hu_trace_device(const hu_trace *trace, int64_t id)
{
    const hu_device *d = trace->devices.at;

    for (size_t i = 0; i < trace->devices.n; i++)
        if (d[i].id == id)
            return &d[i];
    for (size_t i = 1; i < trace->devices.n; i++)
        if (!is_alike(&d[0], &d[i]))
            return NULL;
    return trace->devices.n ? &d[0] : NULL;
}

const hu_device *hu_trace_main_device(const hu_trace *trace)
{
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(trace, &n), *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (tracks[i].type == HU_TRACK_STREAM && tracks[i].count > (best ? best->count : 0))
            best = &tracks[i];
    return best ? hu_trace_device(trace, best->device) : NULL;
}

const hu_metadata *hu_trace_metadata(const hu_trace *trace, size_t *n)
{
    *n = trace->metadata.n;
    return trace->metadata.at;
}

const hu_managed_event *hu_trace_managed(const hu_trace *trace, size_t *n)
{
    *n = trace->managed.n;
    return trace->managed.at;
}

const hu_memory_segment *hu_trace_segments(const hu_trace *trace, size_t *n)
{
    *n = trace->segments.n;
    return trace->segments.at;
}

const hu_memory_block *hu_trace_blocks(const hu_trace *trace, size_t *n)
{
    *n = trace->blocks.n;
    return trace->blocks.at;
}

const hu_memory_action *hu_trace_memory_actions(const hu_trace *trace, size_t *n)
{
    *n = trace->memory_actions.n;
    return trace->memory_actions.at;
}

const hu_memory_mark *hu_trace_memory_marks(const hu_trace *trace, size_t *n)
{
    *n = trace->memory_marks.n;
    return trace->memory_marks.at;
}

const hu_memory_event *hu_trace_memory(const hu_trace *trace, size_t *n)
{
    *n = trace->memory.n;
    return trace->memory.at;
}

const hu_sample *hu_trace_samples(const hu_trace *trace, size_t *n)
{
    *n = trace->samples.n;
    return trace->samples.at;
}

const hu_cpu_sample *hu_trace_cpu_samples(const hu_trace *trace, size_t *n)
{
    *n = trace->cpu_samples.n;
    return trace->cpu_samples.at;
}

const hu_wakeup *hu_trace_wakes(const hu_trace *trace, size_t *n)
{
    *n = trace->wakes.n;
    return trace->wakes.at;
}

const hu_stretch *hu_trace_stretches(const hu_trace *trace, size_t *n)
{
    *n = trace->stretches.n;
    return trace->stretches.at;
}

size_t hu_trace_cpu_stack_count(const hu_trace *trace)
{
    return trace->cpu_stacks.n;
}

const hu_cpu_stack *hu_trace_cpu_stack(const hu_trace *trace, uint32_t row)
{
    return &trace->cpu_stacks.at[row - 1];
}

size_t hu_trace_op_detail_count(const hu_trace *trace)
{
    return trace->ops.n;
}

const hu_op_detail *hu_trace_op_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->ops.at[row];
}

const hu_op_extra *hu_trace_op_extra(const hu_trace *trace, uint32_t row)
{
    return &trace->op_extras.at[row - 1];
}

const hu_kernel_detail *hu_trace_kernel_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->kernels.at[row];
}

const hu_copy_detail *hu_trace_copy_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->copies.at[row];
}

const hu_call_detail *hu_trace_call_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->calls.at[row];
}

const hu_wait_detail *hu_trace_wait_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->waits.at[row - 1];
}

const hu_geometry *hu_trace_geometry(const hu_trace *trace, uint32_t row)
{
    return &trace->geometries.at[row - 1];
}

const hu_sync_detail *hu_trace_sync_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->syncs.at[row];
}

const hu_python_detail *hu_trace_python_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->pythons.at[row];
}

const hu_omp_detail *hu_trace_omp_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->omps.at[row];
}

const hu_os_detail *hu_trace_os_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->os_calls.at[row];
}

const hu_mpi_detail *hu_trace_mpi_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->mpi_calls.at[row];
}

size_t hu_trace_collective_count(const hu_trace *trace)
{
    return trace->collectives.n;
}

const hu_collective_detail *hu_trace_collective_detail(const hu_trace *trace, uint32_t row)
{
    return &trace->collectives.at[row - 1];
}

uint32_t hu_trace_launch_of(const hu_trace *trace, uint32_t slice)
{
    const uint32_t parent = trace->parent[slice];

    return parent != HU_NONE && hu_kind_in(trace->kind[parent], HU_KINDS_CALL) ? parent : HU_NONE;
}

uint32_t hu_trace_op_of(const hu_trace *trace, uint32_t slice)
{
    uint32_t at = trace->parent[slice];

    while (at != HU_NONE && !hu_kind_in(trace->kind[at], HU_BIT(CPU_OP) | HU_BIT(USER)))
        at = trace->parent[at];
    return at;
}

/*
 * Between which places of the list a call's work begins.  Calls are spread about evenly over the slices, so it lies near
 * where their number says: steps from there, twice as long each time, touch less memory than halving all of the list.
 */
static void enclose_work(const hu_trace *trace, uint32_t call, size_t *low, size_t *high)
{
    const size_t most = trace->n_work,
                 guess = call < trace->n ? (size_t)((double)call / (double)trace->n * (double)most) : 0;
    size_t step = 1;

    *low = *high = guess;
    if (guess < most && trace->parent[trace->work[guess]] < call) {
        while (*high < most && trace->parent[trace->work[*high]] < call) {
            *low = *high + 1;
            *high = most - *high > step ? *high + step : most;
            step *= 2;
        }
        return;
    }
    while (*low > 0 && trace->parent[trace->work[*low - 1]] >= call) {
        *high = *low - 1;
        *low = *low > step ? *low - step : 0;
        step *= 2;
    }
}

const uint32_t *hu_trace_work_of(const hu_trace *trace, uint32_t call, size_t *n)
{
    size_t low, high, end;

    enclose_work(trace, call, &low, &high);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (trace->parent[trace->work[middle]] < call)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < trace->n_work && trace->parent[trace->work[end]] == call; end++)
        ;
    *n = end - low;
    return *n ? trace->work + low : NULL;
}

uint32_t hu_trace_after(const hu_trace *trace, uint32_t slice)
{
    const uint32_t after = trace->n_after ? hu_map_get(&trace->after, slice) : HU_MAP_NONE;

    return after == HU_MAP_NONE ? trace->parent[slice] : after - 1;
}

uint32_t hu_trace_forward_of(const hu_trace *trace, uint32_t slice)
{
    return hu_map_get(&trace->forward, slice); /* HU_MAP_NONE is HU_NONE */
}

void hu_trace_drop_unasked(hu_trace *trace)
{
    hu_arena_drop(trace->arena, trace->external);
    hu_arena_drop(trace->arena, trace->pythons.at);
    trace->external = NULL;
    trace->pythons.at = NULL;
    trace->pythons.n = trace->pythons.cap = 0;
}

void hu_trace_free(hu_trace *trace)
{
    if (trace)
        hu_arena_free(trace->arena);
}
