/* SPDX-License-Identifier: Apache-2.0
 * slice_args.c - one function for each side table. */
#include "render/export/slice_args.h"

#include <math.h>

typedef struct {
    hu_arg *at;
    size_t  n;
} list;

const char *hu_arg_name(unsigned id)
{
    static const char *const names[] = {
#define A(id, text) [HU_ARG_##id] = (text),
        HU_ARGS(A)
#undef A
    };

    return names[id];
}

const char *hu_arg_category(unsigned kind)
{
    /* clang-format off */
    static const char *const categories[HU_KIND_COUNT] = {
        [HU_KIND_CPU_OP] = "cpu_op", [HU_KIND_PYTHON] = "python_function", [HU_KIND_USER] = "user_annotation",
        [HU_KIND_RUNTIME] = "cuda_runtime", [HU_KIND_DRIVER] = "cuda_driver", [HU_KIND_OVERHEAD] = "overhead",
        [HU_KIND_KERNEL] = "kernel", [HU_KIND_COLLECTIVE] = "kernel", [HU_KIND_MEMCPY] = "gpu_memcpy",
        [HU_KIND_MEMSET] = "gpu_memset", [HU_KIND_SYNC] = "cuda_sync", [HU_KIND_GPU_USER] = "gpu_user_annotation",
        [HU_KIND_EVENT] = "cuda_event", [HU_KIND_COUNTER_RANGE] = "cuda_profiler_range", [HU_KIND_SPAN] = "Trace",
        [HU_KIND_OPENMP] = "openmp", [HU_KIND_OPENACC] = "openacc",
        [HU_KIND_OTHER] = "other", [HU_KIND_OS_CALL] = "os_call", [HU_KIND_MPI] = "mpi", [HU_KIND_CPU_WAIT] = "cpu_wait",
    };
    /* clang-format on */

    return categories[kind];
}

static void add_int(list *l, hu_arg_id id, int64_t value, int64_t absent)
{
    if (value != absent)
        l->at[l->n++] = (hu_arg){.id = (uint8_t)id, .type = HU_ARG_INT, .whole = value};
}

static void add_real(list *l, hu_arg_id id, double value, hu_arg_type type)
{
    if (isfinite(value))
        l->at[l->n++] = (hu_arg){.id = (uint8_t)id, .type = (uint8_t)type, .real = value};
}

static void add_text(list *l, hu_arg_id id, uint32_t text, hu_arg_type type)
{
    if (text)
        l->at[l->n++] = (hu_arg){.id = (uint8_t)id, .type = (uint8_t)type, .text = text};
}

static void add_triple(list *l, hu_arg_id id, uint32_t a, uint32_t b, uint32_t c)
{
    if (a | b | c)
        l->at[l->n++] = (hu_arg){.id = (uint8_t)id, .type = HU_ARG_TRIPLE, .triple = {a, b, c}};
}

static void add_collective(list *l, const hu_collective_detail *c)
{
    /* written even when it is empty, for it tells readers what the rest is */
    l->at[l->n++] = (hu_arg){.id = HU_ARG_COLLECTIVE, .type = HU_ARG_TEXT, .text = c->name};
    add_int(l, HU_ARG_IN_ELEMENTS, c->in_elements, -1);
    add_int(l, HU_ARG_OUT_ELEMENTS, c->out_elements, -1);
    add_int(l, HU_ARG_GROUP_SIZE, c->group_size, -1);
    add_text(l, HU_ARG_DTYPE, c->dtype, HU_ARG_TEXT);
    add_text(l, HU_ARG_IN_SPLIT, c->in_split, HU_ARG_TEXT);
    add_text(l, HU_ARG_OUT_SPLIT, c->out_split, HU_ARG_TEXT);
    add_text(l, HU_ARG_GROUP, c->group, HU_ARG_TEXT);
    add_text(l, HU_ARG_GROUP_DESCRIPTION, c->group_description, HU_ARG_TEXT);
    add_text(l, HU_ARG_GROUP_RANKS, c->group_ranks, HU_ARG_TEXT);
    add_int(l, HU_ARG_SOURCE_RANK, c->source_rank, -1);
    add_int(l, HU_ARG_TARGET_RANK, c->target_rank, -1);
    add_int(l, HU_ARG_RANK_START, c->rank_start, -1);
    add_int(l, HU_ARG_RANK_STRIDE, c->rank_stride, -1);
    add_int(l, HU_ARG_COMM_SEQUENCE, c->sequence, -1);
    add_int(l, HU_ARG_COMM_ID, c->comm_id, -1);
    if (c->is_async >= 0)
        l->at[l->n++] = (hu_arg){.id = HU_ARG_IS_ASYNC, .type = HU_ARG_BOOL, .whole = c->is_async};
    if (c->recorded != HU_COLLECTIVE_UNSAID)
        l->at[l->n++] = (hu_arg){
            .id = HU_ARG_RECORDED, .type = HU_ARG_WORD, .word = c->recorded == HU_COLLECTIVE_SPAN ? "span" : "call"};
}

static void add_op(list *l, const hu_trace *trace, const hu_op_detail *d)
{
    const hu_op_extra *extra = d->extra ? hu_trace_op_extra(trace, d->extra) : NULL;

    add_int(l, HU_ARG_SEQUENCE, d->sequence, -1);
    add_int(l, HU_ARG_FORWARD_THREAD, d->forward_thread, 0);
    add_text(l, HU_ARG_DIMS, d->dims, HU_ARG_LIST);
    add_text(l, HU_ARG_TYPES, d->types, HU_ARG_LIST);
    add_text(l, HU_ARG_STRIDES, d->strides, HU_ARG_LIST);
    add_text(l, HU_ARG_CONCRETE, d->concrete, HU_ARG_LIST);
    if (!extra)
        return;
    add_text(l, HU_ARG_STACK, extra->stack, HU_ARG_TEXT);
    add_text(l, HU_ARG_MODULE, extra->module, HU_ARG_TEXT);
    add_text(l, HU_ARG_BACKEND, extra->backend, HU_ARG_TEXT);
    add_text(l, HU_ARG_FILE, extra->file, HU_ARG_TEXT);
    add_int(l, HU_ARG_STREAM, extra->stream, -1);
    if (extra->collective)
        add_collective(l, hu_trace_collective_detail(trace, extra->collective));
}

static void add_kernel(list *l, const hu_trace *trace, const hu_kernel_detail *d)
{
    add_int(l, HU_ARG_CONTEXT, d->context, 0);
    add_int(l, HU_ARG_REGISTERS, d->registers, 0);
    add_int(l, HU_ARG_SHARED_MEMORY, d->shared_bytes, 0);
    add_real(l, HU_ARG_BLOCKS_PER_SM, (double)d->blocks_per_sm, HU_ARG_FLOAT);
    add_real(l, HU_ARG_WARPS_PER_SM, (double)d->warps_per_sm, HU_ARG_FLOAT);
    add_triple(l, HU_ARG_GRID, d->grid[0], d->grid[1], d->grid[2]);
    add_triple(l, HU_ARG_BLOCK, d->block[0], d->block[1], d->block[2]);
    add_real(l, HU_ARG_OCCUPANCY, (double)d->occupancy_pct, HU_ARG_FLOAT);
    add_int(l, HU_ARG_GRAPH, d->graph, 0);
    add_int(l, HU_ARG_GRAPH_NODE, d->graph_node, 0);
    add_int(l, HU_ARG_PRIORITY, d->priority, INT32_MIN);
    if (d->collective)
        add_collective(l, hu_trace_collective_detail(trace, d->collective));
}

static void add_copy(list *l, const hu_copy_detail *d)
{
    add_int(l, HU_ARG_BYTES, d->bytes, -1);
    add_real(l, HU_ARG_BANDWIDTH, d->gbps, HU_ARG_REAL);
    add_int(l, HU_ARG_FROM_DEVICE, d->from_device, -1);
    add_int(l, HU_ARG_TO_DEVICE, d->to_device, -1);
    add_int(l, HU_ARG_GRAPH, d->graph, 0);
    add_int(l, HU_ARG_GRAPH_NODE, d->graph_node, 0);
}

static void add_call(list *l, const hu_trace *trace, const hu_call_detail *d)
{
    add_int(l, HU_ARG_CALLBACK_ID, d->callback_id, -1);
    add_int(l, HU_ARG_BYTES, d->bytes, -1);
    if (d->geometry) {
        const hu_geometry *g = hu_trace_geometry(trace, d->geometry);

        add_triple(l, HU_ARG_GRID, g->grid[0], g->grid[1], g->grid[2]);
        add_triple(l, HU_ARG_BLOCK, g->block[0], g->block[1], g->block[2]);
        add_int(l, HU_ARG_SHARED_MEMORY, g->shared_bytes, 0);
    }
}

static void add_sync(list *l, const hu_sync_detail *d)
{
    add_int(l, HU_ARG_STREAM, d->stream, -1);
    add_int(l, HU_ARG_WAIT_STREAM, d->wait_stream, -1);
    add_int(l, HU_ARG_WAIT_RECORD, d->wait_record, -1);
    add_int(l, HU_ARG_WAIT_EVENT, d->wait_event, -1);
}

static void add_python(list *l, const hu_python_detail *d)
{
    add_int(l, HU_ARG_PYTHON_PARENT, d->parent, 0);
    add_int(l, HU_ARG_PYTHON_ID, d->id, 0);
    add_int(l, HU_ARG_PYTHON_MODULE, d->module, 0);
}

static void add_os_call(list *l, const hu_os_detail *d)
{
    l->at[l->n++] = (hu_arg){.id = HU_ARG_CLASS, .type = HU_ARG_WORD, .word = hu_host_class_key(d->class)};
    add_int(l, HU_ARG_BYTES, d->bytes, -1);
    add_text(l, HU_ARG_PATH, d->path, HU_ARG_TEXT);
    add_int(l, HU_ARG_CALLS, d->calls, 0);
}

static void add_omp(list *l, const hu_omp_detail *d)
{
    add_int(l, HU_ARG_REGION, d->region, 0);
    add_int(l, HU_ARG_THREADS, d->threads, 0);
    add_int(l, HU_ARG_CALLS, d->calls, 0);
    add_int(l, HU_ARG_WORK_NS, d->work_ns, -1);
    add_text(l, HU_ARG_CALLER, d->caller, HU_ARG_TEXT);
    add_text(l, HU_ARG_PLACE, d->place, HU_ARG_TEXT);
    add_text(l, HU_ARG_LINE, d->line, HU_ARG_TEXT);
    add_text(l, HU_ARG_WORKSHARING, d->worksharing, HU_ARG_TEXT);
}

static void add_mpi(list *l, const hu_mpi_detail *d)
{
    add_text(l, HU_ARG_COMM, d->comm, HU_ARG_TEXT);
    add_int(l, HU_ARG_PEER, d->peer, -1);
    add_int(l, HU_ARG_ROOT, d->root, -1);
    add_int(l, HU_ARG_TAG, d->tag, INT32_MIN);
    add_int(l, HU_ARG_BYTES, d->bytes, -1);
}

static void add_detail(list *l, const hu_trace *trace, unsigned kind, uint32_t row)
{
    switch (kind) {
    case HU_KIND_CPU_OP:
    case HU_KIND_USER:
    case HU_KIND_OTHER: /* of NCCL's operations alone */
        add_op(l, trace, hu_trace_op_detail(trace, row));
        return;
    case HU_KIND_KERNEL:
    case HU_KIND_COLLECTIVE:
        add_kernel(l, trace, hu_trace_kernel_detail(trace, row));
        return;
    case HU_KIND_MEMCPY:
    case HU_KIND_MEMSET:
        add_copy(l, hu_trace_copy_detail(trace, row));
        return;
    case HU_KIND_RUNTIME:
    case HU_KIND_DRIVER:
        add_call(l, trace, hu_trace_call_detail(trace, row));
        return;
    case HU_KIND_OS_CALL:
        add_os_call(l, hu_trace_os_detail(trace, row));
        return;
    case HU_KIND_OPENMP:
        add_omp(l, hu_trace_omp_detail(trace, row));
        return;
    case HU_KIND_MPI:
        add_mpi(l, hu_trace_mpi_detail(trace, row));
        return;
    case HU_KIND_SYNC:
        add_sync(l, hu_trace_sync_detail(trace, row));
        return;
    case HU_KIND_PYTHON:
        add_python(l, hu_trace_python_detail(trace, row));
        return;
    }
}

size_t hu_slice_args(const hu_trace *trace, const hu_slices *s, uint32_t slice, hu_arg out[HU_ARG_COUNT])
{
    list l = {.at = out};

    add_int(&l, HU_ARG_EXTERNAL_ID, s->external[slice], 0);
    add_int(&l, HU_ARG_CORRELATION, s->correlation[slice], 0);
    if (hu_kind_in(s->kind[slice], HU_KINDS_DEVICE)) {
        size_t          n;
        const hu_track *track = &hu_trace_tracks(trace, &n)[s->track[slice]];

        /* -1 as well, or a reader would take them from the row */
        add_int(&l, HU_ARG_DEVICE, track->device, INT64_MIN);
        add_int(&l, HU_ARG_STREAM, track->stream, INT64_MIN);
    }
    if (s->detail[slice] != HU_NONE)
        add_detail(&l, trace, s->kind[slice], s->detail[slice]);
    return l.n;
}
