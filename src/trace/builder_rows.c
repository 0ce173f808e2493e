/* SPDX-License-Identifier: Apache-2.0
 * builder_rows.c - appends what slices carry beyond their time, and what is no slice. */
#include "base/hash.h"
#include "trace/builder_state.h"

/* Appends a row and returns `base` + its number. */
#define APPEND(b, column, row, base)                                                   \
    do {                                                                               \
        if (hu_builder_failed(b) || !hu_vec_push((b)->trace->arena, column, *(row))) { \
            hu_builder_no_memory(b);                                                   \
            return (base) ? 0 : HU_NONE;                                               \
        }                                                                              \
        return (uint32_t)(column)->n - 1 + (base);                                     \
    } while (0)

static bool same_bytes(const void *a, const void *b, size_t n)
{
    return memcmp(a, b, n) == 0;
}

/* Returns the number of a row that was appended not long ago and has the same bytes, or appends this one. */
#define SHARE(b, table, column, row)                                                                             \
    do {                                                                                                         \
        uint32_t *place_ = &(b)->seen[table][hu_hash_bytes((const char *)(row), sizeof *(row)) % HU_SEEN_SLOTS]; \
                                                                                                                 \
        if (hu_builder_failed(b))                                                                                \
            return HU_NONE;                                                                                      \
        if (*place_ && same_bytes(&(column)->at[*place_ - 1], row, sizeof *(row)))                               \
            return *place_ - 1;                                                                                  \
        *place_ = (uint32_t)(column)->n + 1;                                                                     \
        APPEND(b, column, row, 0);                                                                               \
    } while (0)

/* No bytes between the members that nobody wrote. */
_Static_assert(sizeof(hu_op_detail) == 28 && sizeof(hu_kernel_detail) == 56 && sizeof(hu_copy_detail) == 32 &&
                   sizeof(hu_call_detail) == 16,
               "rows are compared byte by byte");

uint32_t hu_builder_op_detail(hu_builder *b, const hu_op_detail *row)
{
    SHARE(b, HU_SEEN_OPS, &b->trace->ops, row);
}

size_t hu_builder_fill_inputs(hu_builder *b, hu_builder_inputs_of *ask, void *context, size_t *filled)
{
    const hu_op_detail nothing = {.sequence = -1};
    hu_trace          *t = b->trace;
    size_t             had = 0;

    *filled = 0;
    for (size_t i = 0; i < t->n && !hu_builder_failed(b); i++) {
        const bool   is_op = t->kind[i] == HU_KIND_CPU_OP && t->external[i] && t->external[i] < HU_FIRST_WIDE_ID;
        hu_op_detail row = is_op && t->detail[i] != HU_NONE ? t->ops.at[t->detail[i]] : nothing;
        hu_str       dims, types;

        if (!is_op || !ask(context, t->external[i], hu_builder_text(b, t->name[i]), &dims, &types))
            continue;
        had++;
        if (row.dims || dims.n == 0)
            continue;
        row.dims = hu_builder_intern(b, dims);
        row.types = types.n ? hu_builder_intern(b, types) : 0;
        t->detail[i] = hu_builder_op_detail(b, &row);
        ++*filled;
    }
    return had;
}

uint32_t hu_builder_kernel_detail(hu_builder *b, const hu_kernel_detail *row)
{
    SHARE(b, HU_SEEN_KERNELS, &b->trace->kernels, row);
}

uint32_t hu_builder_copy_detail(hu_builder *b, const hu_copy_detail *row)
{
    SHARE(b, HU_SEEN_COPIES, &b->trace->copies, row);
}

uint32_t hu_builder_call_detail(hu_builder *b, const hu_call_detail *row)
{
    SHARE(b, HU_SEEN_CALLS, &b->trace->calls, row);
}

uint32_t hu_builder_sync_detail(hu_builder *b, const hu_sync_detail *row)
{
    APPEND(b, &b->trace->syncs, row, 0);
}

uint32_t hu_builder_python_detail(hu_builder *b, const hu_python_detail *row)
{
    APPEND(b, &b->trace->pythons, row, 0);
}

uint32_t hu_builder_os_detail(hu_builder *b, const hu_os_detail *row)
{
    APPEND(b, &b->trace->os_calls, row, 0);
}

uint32_t hu_builder_omp_detail(hu_builder *b, const hu_omp_detail *row)
{
    APPEND(b, &b->trace->omps, row, 0);
}

uint32_t hu_builder_os_detail_like(hu_builder *b, uint32_t row, int64_t bytes)
{
    hu_os_detail like = b->trace->os_calls.at[row];

    like.bytes = bytes;
    return hu_builder_os_detail(b, &like);
}

uint32_t hu_builder_mpi_detail(hu_builder *b, const hu_mpi_detail *row)
{
    APPEND(b, &b->trace->mpi_calls, row, 0);
}

uint32_t hu_builder_op_extra(hu_builder *b, const hu_op_extra *row)
{
    APPEND(b, &b->trace->op_extras, row, 1);
}

uint32_t hu_builder_wait_detail(hu_builder *b, const hu_wait_detail *row)
{
    APPEND(b, &b->trace->waits, row, 1);
}

uint32_t hu_builder_geometry(hu_builder *b, const hu_geometry *row)
{
    APPEND(b, &b->trace->geometries, row, 1);
}

uint32_t hu_builder_collective_detail(hu_builder *b, const hu_collective_detail *row)
{
    APPEND(b, &b->trace->collectives, row, 1);
}

void hu_builder_memory(hu_builder *b, const hu_memory_event *event)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->memory, *event))
        hu_builder_no_memory(b);
}

uint32_t hu_builder_memory_count(const hu_builder *b)
{
    return (uint32_t)b->trace->memory.n;
}

void hu_builder_managed(hu_builder *b, const hu_managed_event *event)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->managed, *event))
        hu_builder_no_memory(b);
}

void hu_builder_segment(hu_builder *b, const hu_memory_segment *segment)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->segments, *segment))
        hu_builder_no_memory(b);
}

void hu_builder_block(hu_builder *b, const hu_memory_block *row)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->blocks, *row))
        hu_builder_no_memory(b);
}

void hu_builder_memory_action(hu_builder *b, const hu_memory_action *row)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->memory_actions, *row))
        hu_builder_no_memory(b);
}

void hu_builder_memory_mark(hu_builder *b, const hu_memory_mark *row)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->memory_marks, *row))
        hu_builder_no_memory(b);
}

uint32_t hu_builder_cpu_stack(hu_builder *b, const hu_cpu_stack *stack)
{
    uint64_t key = hu_hash_mix((uint64_t)stack->caller << 32 | stack->function, stack->module ^ 0x9e3779b97f4a7c15u);

    for (; !hu_builder_failed(b); key++) {
        uint32_t           *place = hu_map_put(&b->stack_of, key);
        const hu_cpu_stack *known;

        if (!place || (*place == HU_MAP_NONE && !hu_vec_push(b->trace->arena, &b->trace->cpu_stacks, *stack))) {
            hu_builder_no_memory(b);
            break;
        }
        if (*place == HU_MAP_NONE)
            return *place = (uint32_t)b->trace->cpu_stacks.n;
        known = &b->trace->cpu_stacks.at[*place - 1];
        if (known->caller == stack->caller && known->function == stack->function && known->module == stack->module)
            return *place;
    }
    return 0;
}

void hu_builder_cpu_sample(hu_builder *b, const hu_cpu_sample *sample)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->cpu_samples, *sample))
        hu_builder_no_memory(b);
}

void hu_builder_stretch(hu_builder *b, const hu_stretch *stretch)
{
    if (stretch->end_ns > stretch->start_ns &&
        (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->stretches, *stretch)))
        hu_builder_no_memory(b);
}

void hu_builder_sample(hu_builder *b, uint32_t track, int64_t time_ns, double value)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->samples, ((hu_sample){time_ns, track, value})))
        hu_builder_no_memory(b);
}

void hu_builder_wake(hu_builder *b, const hu_wakeup *wake)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->wakes, *wake))
        hu_builder_no_memory(b);
}

void hu_builder_flow(hu_builder *b, const hu_flow *flow)
{
    if (hu_builder_failed(b) || !(flow->is_launch ? hu_vec_push(b->trace->arena, &b->trace->launches, *flow)
                                                  : hu_vec_push(b->trace->arena, &b->trace->flows, *flow)))
        hu_builder_no_memory(b);
}

void hu_builder_device(hu_builder *b, const hu_device *device)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->devices, *device))
        hu_builder_no_memory(b);
}

void hu_builder_metadata(hu_builder *b, hu_str key, hu_str json)
{
    const hu_metadata row = {hu_builder_intern(b, key), hu_builder_intern(b, json)};

    if (hu_builder_failed(b) || !hu_vec_push(b->trace->arena, &b->trace->metadata, row))
        hu_builder_no_memory(b);
}
