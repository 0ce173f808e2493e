/* SPDX-License-Identifier: Apache-2.0
 * columns.c - the tables of the report, column by column. */
#include "render/columns.h"

#include <math.h>
#include <stdio.h>

#define ABSENT ((double)NAN)

static double share_pct(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : ABSENT;
}

static double per_step(const hu_digest *d, int64_t in_steps)
{
    const int64_t n = hu_digest_step_count(d);

    return n ? (double)in_steps / (double)n : ABSENT;
}

static bool has_device(const hu_digest *d)
{
    return d->gpu_time.n_slices > 0;
}

static bool no_device(const hu_digest *d)
{
    return !has_device(d);
}

static bool has_memory(const hu_digest *d)
{
    return d->operators.has_memory;
}

static bool has_host_memory_only(const hu_digest *d)
{
    return d->operators.has_memory && !has_device(d);
}

static bool has_device_memory(const hu_digest *d)
{
    return d->operators.has_memory && has_device(d);
}

static bool has_shapes(const hu_digest *d)
{
    for (size_t i = 0; i < d->operators.n; i++)
        if (d->operators.at[i].shapes.n)
            return true;
    return false;
}

static bool has_occupancy(const hu_digest *d)
{
    for (size_t i = 0; i < d->kernels.n; i++)
        if (!isnan(d->kernels.at[i].occupancy_pct))
            return true;
    return false;
}

/* Writes a getter named NAME for a number of row `r` of `d`. */
#define NUMBER(name, list, expression)                                           \
    static void name(const hu_digest *d, size_t row, hu_cell *out)               \
    {                                                                            \
        const __typeof__(*d->list.at) *r = &d->list.at[row];                     \
                                                                                 \
        (void)r;                                                                 \
        out->number = (double)(expression);                                      \
    }

#define TEXT(name, list, expression)                                             \
    static void name(const hu_digest *d, size_t row, hu_cell *out)               \
    {                                                                            \
        const __typeof__(*d->list.at) *r = &d->list.at[row];                     \
                                                                                 \
        (void)r;                                                                 \
        out->text = (expression);                                                \
    }

/* operators */

TEXT(op_name, operators, r->name)
TEXT(op_shapes, operators, r->shapes)
TEXT(op_kind, operators, hu_str_of(hu_kind_name(r->kind)))
NUMBER(op_calls, operators, r->calls)
NUMBER(op_calls_per_step, operators, per_step(d, r->calls_in_steps))
NUMBER(op_host_self, operators, r->host_self_ns)
NUMBER(op_host_self_pct, operators, share_pct((double)r->host_self_ns, (double)d->operators.host_self_sum_ns))
NUMBER(op_host_total, operators, r->host_total_ns)
NUMBER(op_host_mean, operators, (double)r->host_total_ns / (double)r->calls)
NUMBER(op_device_self, operators, r->device_self_ns)
NUMBER(op_device_self_pct, operators, share_pct((double)r->device_self_ns, (double)d->operators.device_self_sum_ns))
NUMBER(op_device_total, operators, r->device_total_ns)
NUMBER(op_device_mean, operators, (double)r->device_total_ns / (double)r->calls)
NUMBER(op_host_bytes, operators, has_memory(d) ? (double)r->host_bytes : ABSENT)
NUMBER(op_device_bytes, operators, has_memory(d) ? (double)r->device_bytes : ABSENT)

static size_t op_rows(const hu_digest *d)
{
    return d->operators.n;
}

static const hu_column op_columns[] = {
    {"device_self_ns", "dev self", HU_CELL_NS, 9, has_device, op_device_self},
    {"device_self_pct", "%", HU_CELL_PERCENT, 5, has_device, op_device_self_pct},
    {"device_total_ns", "dev total", HU_CELL_NS, 9, has_device, op_device_total},
    {"device_mean_ns", NULL, HU_CELL_NS, 0, NULL, op_device_mean},
    {"host_self_ns", "host self", HU_CELL_NS, 9, NULL, op_host_self},
    {"host_self_pct", "%", HU_CELL_PERCENT, 5, no_device, op_host_self_pct, false},
    {"host_total_ns", "host total", HU_CELL_NS, 10, no_device, op_host_total, false},
    {"host_mean_ns", NULL, HU_CELL_NS, 0, NULL, op_host_mean},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, op_calls},
    {"calls_per_step", NULL, HU_CELL_NUMBER, 0, NULL, op_calls_per_step},
    {"host_self_bytes", "memory", HU_CELL_BYTES, 8, has_host_memory_only, op_host_bytes, true},
    {"device_self_bytes", "dev mem", HU_CELL_BYTES, 8, has_device_memory, op_device_bytes, true},
    {"kind", NULL, HU_CELL_TEXT, 0, NULL, op_kind},
    {"shapes", "shapes", HU_CELL_TEXT, 16, has_shapes, op_shapes},
    {"name", "name", HU_CELL_TEXT, 0, NULL, op_name},
};

const hu_table hu_table_operators = {
    "operators", "Operators", "no operators were recorded", op_columns, HU_COUNT(op_columns), op_rows};

/* kernels */

TEXT(kernel_name, kernels, r->name)
NUMBER(kernel_is_comm, kernels, r->is_comm)
NUMBER(kernel_calls, kernels, r->calls)
NUMBER(kernel_calls_per_step, kernels, per_step(d, r->calls_in_steps))
NUMBER(kernel_total, kernels, r->total_ns)
NUMBER(kernel_pct, kernels, share_pct((double)r->total_ns, (double)d->kernels.total_ns))
NUMBER(kernel_mean, kernels, (double)r->total_ns / (double)r->calls)
NUMBER(kernel_min, kernels, r->min_ns)
NUMBER(kernel_max, kernels, r->max_ns)
NUMBER(kernel_stddev, kernels, r->stddev_ns)
NUMBER(kernel_grid_x, kernels, r->grid[0] ? r->grid[0] : ABSENT)
NUMBER(kernel_grid_y, kernels, r->grid[0] ? r->grid[1] : ABSENT)
NUMBER(kernel_grid_z, kernels, r->grid[0] ? r->grid[2] : ABSENT)
NUMBER(kernel_block_x, kernels, r->block[0] ? r->block[0] : ABSENT)
NUMBER(kernel_block_y, kernels, r->block[0] ? r->block[1] : ABSENT)
NUMBER(kernel_block_z, kernels, r->block[0] ? r->block[2] : ABSENT)
NUMBER(kernel_blocks, kernels, r->grid[0] ? (double)r->grid[0] * r->grid[1] * r->grid[2] : ABSENT)
NUMBER(kernel_threads, kernels, r->block[0] ? (double)r->block[0] * r->block[1] * r->block[2] : ABSENT)
NUMBER(kernel_varies, kernels, r->geometry_varies)
NUMBER(kernel_registers, kernels, r->registers ? r->registers : ABSENT)
NUMBER(kernel_shared, kernels, r->grid[0] ? r->shared_bytes : ABSENT)
NUMBER(kernel_occupancy, kernels, r->occupancy_pct)

static size_t kernel_rows(const hu_digest *d)
{
    return d->kernels.n;
}

static const hu_column kernel_columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, kernel_total},
    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, kernel_pct},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, kernel_calls},
    {"calls_per_step", NULL, HU_CELL_NUMBER, 0, NULL, kernel_calls_per_step},
    {"mean_ns", "mean", HU_CELL_NS, 8, NULL, kernel_mean},
    {"min_ns", NULL, HU_CELL_NS, 0, NULL, kernel_min},
    {"max_ns", "max", HU_CELL_NS, 8, NULL, kernel_max, true},
    {"stddev_ns", NULL, HU_CELL_NS, 0, NULL, kernel_stddev},
    {"blocks", "blocks", HU_CELL_COUNT, 7, NULL, kernel_blocks},
    {"threads", "threads", HU_CELL_COUNT, 7, NULL, kernel_threads, true},
    {"grid_x", NULL, HU_CELL_COUNT, 0, NULL, kernel_grid_x},
    {"grid_y", NULL, HU_CELL_COUNT, 0, NULL, kernel_grid_y},
    {"grid_z", NULL, HU_CELL_COUNT, 0, NULL, kernel_grid_z},
    {"block_x", NULL, HU_CELL_COUNT, 0, NULL, kernel_block_x},
    {"block_y", NULL, HU_CELL_COUNT, 0, NULL, kernel_block_y},
    {"block_z", NULL, HU_CELL_COUNT, 0, NULL, kernel_block_z},
    {"geometry_varies", NULL, HU_CELL_BOOL, 0, NULL, kernel_varies},
    {"registers_per_thread", NULL, HU_CELL_COUNT, 0, NULL, kernel_registers},
    {"shared_bytes", NULL, HU_CELL_BYTES, 0, NULL, kernel_shared},
    {"occupancy_pct", "occ%", HU_CELL_PERCENT, 5, has_occupancy, kernel_occupancy},
    {"is_communication", NULL, HU_CELL_BOOL, 0, NULL, kernel_is_comm},
    {"name", "name", HU_CELL_TEXT, 0, NULL, kernel_name},
};

const hu_table hu_table_kernels = {
    "kernels", "Kernels", "no kernels were recorded", kernel_columns, HU_COUNT(kernel_columns), kernel_rows};

/* copies */

TEXT(copy_name, copies, r->name)
TEXT(copy_direction, copies, r->direction)
TEXT(copy_from, copies, r->from)
TEXT(copy_to, copies, r->to)
NUMBER(copy_pageable, copies, r->is_pageable)
NUMBER(copy_calls, copies, r->calls)
NUMBER(copy_total, copies, r->total_ns)
NUMBER(copy_mean, copies, (double)r->total_ns / (double)r->calls)
NUMBER(copy_min, copies, r->min_ns)
NUMBER(copy_max, copies, r->max_ns)
NUMBER(copy_bytes, copies, r->has_bytes ? (double)r->bytes : ABSENT)
NUMBER(copy_gbps, copies, hu_copy_gbps(r))

static size_t copy_rows(const hu_digest *d)
{
    return d->copies.n;
}

static const hu_column copy_columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, copy_total},
    {"calls", "calls", HU_CELL_COUNT, 7, NULL, copy_calls},
    {"mean_ns", "mean", HU_CELL_NS, 9, NULL, copy_mean},
    {"min_ns", NULL, HU_CELL_NS, 0, NULL, copy_min},
    {"max_ns", NULL, HU_CELL_NS, 0, NULL, copy_max},
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, copy_bytes},
    {"gbps", "GB/s", HU_CELL_NUMBER, 7, NULL, copy_gbps},
    {"direction", NULL, HU_CELL_TEXT, 0, NULL, copy_direction},
    {"from", NULL, HU_CELL_TEXT, 0, NULL, copy_from},
    {"to", NULL, HU_CELL_TEXT, 0, NULL, copy_to},
    {"is_pageable", NULL, HU_CELL_BOOL, 0, NULL, copy_pageable},
    {"name", "name", HU_CELL_TEXT, 0, NULL, copy_name},
};

const hu_table hu_table_copies = {
    "copies", "Copies", "no memory copies were recorded", copy_columns, HU_COUNT(copy_columns), copy_rows};

/* steps: two parallel lists, so the getters look at both */

static size_t step_rows(const hu_digest *d)
{
    return d->steps.n;
}

static void step_name(const hu_digest *d, size_t row, hu_cell *out)
{
    out->text = d->step_names[row].n ? d->step_names[row]
                                     : d->steps.source == HU_STEPS_NONE ? HU_STR("capture") : HU_STR("step");
}

static void step_note(const hu_digest *d, size_t row, hu_cell *out)
{
    const hu_step *s = &d->steps.at[row];

    out->text = s->is_warm_up ? HU_STR("warm-up") : s->is_incomplete ? HU_STR("incomplete") : HU_STR("");
}

#define STEP(name, expression)                                         \
    static void name(const hu_digest *d, size_t row, hu_cell *out)     \
    {                                                                  \
        const hu_step      *s = &d->steps.at[row];                     \
        const hu_step_time *t = &d->breakdown.at[row];                 \
                                                                       \
        (void)s;                                                       \
        (void)t;                                                       \
        out->number = (double)(expression);                            \
    }

STEP(step_number, s->number)

static void step_start(const hu_digest *d, size_t row, hu_cell *out)
{
    out->whole = d->steps.at[row].start_ns;
    out->is_whole = true;
    out->number = (double)out->whole;
}

STEP(step_duration, t->step_ns)
STEP(step_busy, t->step_ns > 0 && has_device(d) ? 100 * (t->step_ns - t->idle_ns) / t->step_ns : ABSENT)
STEP(step_compute, t->compute_ns)
STEP(step_comm, t->exposed_comm_ns)
STEP(step_copy, t->exposed_copy_ns)
STEP(step_idle, t->idle_ns)
STEP(step_kernels, s->n_device)
STEP(step_warm_up, s->is_warm_up)
STEP(step_incomplete, s->is_incomplete)
STEP(role_kernel, t->role_ns[HU_ROLE_KERNEL])
STEP(role_memcpy, t->role_ns[HU_ROLE_MEMCPY])
STEP(role_memset, t->role_ns[HU_ROLE_MEMSET])
STEP(role_communication, t->role_ns[HU_ROLE_COMMUNICATION])
STEP(role_runtime, t->role_ns[HU_ROLE_RUNTIME])
STEP(role_data_loader, t->role_ns[HU_ROLE_DATA_LOADER])
STEP(role_cpu_exec, t->role_ns[HU_ROLE_CPU_EXEC])
STEP(role_other, t->role_ns[HU_ROLE_OTHER])

static const hu_column step_columns[] = {
    {"number", "step", HU_CELL_COUNT, 5, NULL, step_number},
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, step_start},
    {"duration_ns", "duration", HU_CELL_NS, 9, NULL, step_duration},
    {"gpu_busy_pct", "busy%", HU_CELL_PERCENT, 5, has_device, step_busy},
    {"compute_ns", "compute", HU_CELL_NS, 8, has_device, step_compute},
    {"exposed_comm_ns", "exp comm", HU_CELL_NS, 8, has_device, step_comm},
    {"exposed_copy_ns", "exp copy", HU_CELL_NS, 8, has_device, step_copy},
    {"idle_ns", "idle", HU_CELL_NS, 8, has_device, step_idle},
    {"device_slices", NULL, HU_CELL_COUNT, 0, NULL, step_kernels},
    {"kernel_ns", NULL, HU_CELL_NS, 0, NULL, role_kernel},
    {"memcpy_ns", NULL, HU_CELL_NS, 0, NULL, role_memcpy},
    {"memset_ns", NULL, HU_CELL_NS, 0, NULL, role_memset},
    {"communication_ns", "comm", HU_CELL_NS, 9, no_device, role_communication},
    {"runtime_ns", NULL, HU_CELL_NS, 0, NULL, role_runtime},
    {"data_loader_ns", "loader", HU_CELL_NS, 9, NULL, role_data_loader},
    {"cpu_exec_ns", "cpu exec", HU_CELL_NS, 9, no_device, role_cpu_exec},
    {"other_ns", "other", HU_CELL_NS, 9, no_device, role_other},
    {"is_warm_up", NULL, HU_CELL_BOOL, 0, NULL, step_warm_up},
    {"is_incomplete", NULL, HU_CELL_BOOL, 0, NULL, step_incomplete},
    {"name", NULL, HU_CELL_TEXT, 0, NULL, step_name},
    {"note", "note", HU_CELL_TEXT, 0, NULL, step_note},
};

const hu_table hu_table_steps = {"steps", "Steps", "no time was recorded", step_columns, HU_COUNT(step_columns), step_rows};

const hu_column *hu_columns_find(const hu_table *table, hu_str key)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (hu_str_equal(hu_str_of(table->columns[i].key), key))
            return &table->columns[i];
    return NULL;
}

static bool comes_after(const hu_column *c, const hu_digest *d, uint32_t a, uint32_t b)
{
    hu_cell x = {0}, y = {0};

    c->get(d, a, &x);
    c->get(d, b, &y);
    if (c->type == HU_CELL_TEXT)
        return hu_str_compare(x.text, y.text) > 0;
    return isnan(x.number) ? !isnan(y.number) : y.number > x.number;
}

/* Bottom-up merge sort: stable, and tables may have many thousand rows. */
static void merge_sort(const hu_column *c, const hu_digest *d, uint32_t *at, uint32_t *spare, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            const size_t middle = from + width < n ? from + width : n;
            const size_t end = from + 2 * width < n ? from + 2 * width : n;
            size_t       i = from, j = middle;

            for (size_t k = from; k < end; k++)
                spare[k] = i < middle && (j >= end || !comes_after(c, d, at[i], at[j])) ? at[i++] : at[j++];
        }
        memcpy(at, spare, n * sizeof *at);
    }
}

const uint32_t *hu_columns_order(const hu_table *table, const hu_digest *d, const char *sort, hu_arena *arena)
{
    const hu_column *by = sort ? hu_columns_find(table, hu_str_of(sort)) : NULL;
    const size_t     n = table->rows(d);
    uint32_t        *order = hu_arena_calloc(arena, 2 * n + 1, sizeof *order);

    if (!order)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (by)
        merge_sort(by, d, order, order + n, n);
    return order;
}
