/* SPDX-License-Identifier: Apache-2.0
 * calls.c - calls of the runtime and the driver, and the places that wait for the device. */
#include "render/table/cells.h"

HU_TEXT(name, calls, r->name)
HU_NUMBER(count, calls, r->duration.n)
HU_NUMBER(total, calls, r->duration.sum)
HU_NUMBER(pct, calls, hu_share_pct((double)r->duration.sum, (double)d->calls.total_ns))
HU_NUMBER(mean, calls, r->duration.mean)
HU_NUMBER(median, calls, r->duration.median)
HU_NUMBER(least, calls, r->duration.min)
HU_NUMBER(most, calls, r->duration.max)
HU_NUMBER(stddev, calls, r->duration.stddev)
HU_NUMBER(is_sync, calls, r->is_sync)
HU_NUMBER(is_alloc, calls, r->is_alloc)
HU_ROWS(rows, calls)

/* clang-format off */
static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total, .source = "nsys stats: cuda_api_sum",
     .help = "Sum of the durations of all calls of this name."},
    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, pct,
     .help = "total_ns as a share of the time in all runtime and driver calls."},
    {"calls", "calls", HU_CELL_COUNT, 7, NULL, count,
     .help = "Number of calls."},
    {"mean_ns", "mean", HU_CELL_NS, 8, NULL, mean,
     .help = "Mean duration of a call."},
    {"median_ns", "median", HU_CELL_NS, 8, NULL, median,
     .help = "Median duration of a call; null when ranks were merged."},
    {"min_ns", NULL, HU_CELL_NS, 0, NULL, least,
     .help = "Shortest call."},
    {"max_ns", "max", HU_CELL_NS, 8, NULL, most,
     .help = "Longest call."},
    {"stddev_ns", NULL, HU_CELL_NS, 0, NULL, stddev,
     .help = "Sample standard deviation of the duration; null for fewer than two calls."},
    {"is_sync", NULL, HU_CELL_BOOL, 0, NULL, is_sync,
     .help = "Whether the call waits for the device."},
    {"is_memory_call", NULL, HU_CELL_BOOL, 0, NULL, is_alloc,
     .help = "Whether the call allocates or frees driver memory (cudaMalloc, cudaFree)."},
    {"name", "name", HU_CELL_TEXT, 0, NULL, name,
     .help = "Name of the call, as recorded."},
};

static const hu_table table = {
    .key = "calls", .title = "Runtime and driver calls", .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no calls recorded",
    .about = "Calls of the CUDA or HIP runtime and driver, or of OpenCL, summed by name.",
};
/* clang-format on */
static const hu_table *const tables[] = {&table};

/* clang-format off */
const hu_view hu_view_calls = {
    .word = "calls", .key = "calls", .is_list = true, .tables = tables, .n_tables = HU_COUNT(tables),
    .about = "runtime and driver calls by name",
};
/* clang-format on */

/* waits */

#define WAIT d->calls.waits

static size_t wait_rows(const hu_rank *rank)
{
    return rank->digest->calls.n_waits;
}

static bool has_stacks(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;

    for (size_t i = 0; i < d->calls.n_waits; i++)
        if (d->calls.waits[i].stack.n)
            return true;
    return false;
}

static bool has_no_stacks(const hu_rank *rank)
{
    return !has_stacks(rank);
}

HU_NUMBER_OF(wait_total, WAIT, r->total_ns)
HU_NUMBER_OF(wait_calls, WAIT, r->calls)
HU_NUMBER_OF(wait_mean, WAIT, hu_mean((double)r->total_ns, (double)r->calls))
HU_NUMBER_OF(wait_max, WAIT, r->max_ns)
HU_TEXT_OF(wait_call, WAIT, r->call)
HU_PLAIN_TEXT_OF(wait_op, WAIT, r->op)
HU_PLAIN_TEXT_OF(wait_stack, WAIT, r->stack)

/* clang-format off */
static const hu_column wait_columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, wait_total,
     .help = "Sum of the durations of these calls."},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, wait_calls,
     .help = "Number of waiting calls from this place."},
    {"mean_ns", "mean", HU_CELL_NS, 8, NULL, wait_mean, .is_wide = true,
     .help = "Mean duration of a call."},
    {"max_ns", "max", HU_CELL_NS, 8, NULL, wait_max,
     .help = "Longest call."},
    {"call", "call", HU_CELL_TEXT, 21, NULL, wait_call,
     .help = "Name of the runtime call."},
    {"operator", "in", HU_CELL_TEXT, 0, has_no_stacks, wait_op,
     .help = "Operators around the call, innermost first; empty when there are none."},
    {"stack", "called from", HU_CELL_TEXT, 0, has_stacks, wait_stack,
     .help = "Python frames around the call, innermost first; empty when stacks were not recorded."},
};

static const hu_table waits = {
    .key = "waits", .title = "Calls that wait for the GPU, by place",
    .columns = wait_columns, .n_columns = HU_COUNT(wait_columns), .rows = wait_rows,
    .empty = "nothing waits for the GPU",
    .about = "Calls that return only when the device has finished something, by the operator and Python stack around "
             "them.",
};
/* clang-format on */
static const hu_table *const wait_tables[] = {&waits};

HU_FACT(all_ns, d->calls.wait_ns)
HU_FACT(all_calls, d->calls.wait_calls)
HU_FACT(per_step, d->steps.source == HU_STEPS_NONE ? HU_ABSENT : hu_mean((double)d->calls.wait_calls, (double)d->steps.n))
HU_FACT(alloc_calls, d->calls.alloc_calls)
HU_FACT(alloc_ns, d->calls.alloc_ns)
HU_FACT(alloc_in_steps, d->calls.alloc_calls_in_steps)

/* clang-format off */
static const hu_column facts[] = {
    {"wait_calls", "calls that wait for the GPU", HU_CELL_COUNT, 0, NULL, all_calls,
     .help = "Calls that wait for the device: syncs, synchronous copies, and copies of pageable memory."},
    {"wait_ns", "time in them", HU_CELL_NS, 0, NULL, all_ns,
     .help = "Sum of the durations of these calls."},
    {"wait_calls_per_step", "waiting calls per step", HU_CELL_NUMBER, 0, NULL, per_step, .unit = "per step",
     .help = "wait_calls over the number of steps; null without steps."},
    {"memory_calls", "calls that allocate or free driver memory", HU_CELL_COUNT, 0, NULL, alloc_calls,
     .help = "Calls that allocate or free driver memory (cudaMalloc, cudaFree)."},
    {"memory_call_ns", "time in them", HU_CELL_NS, 0, NULL, alloc_ns,
     .help = "Sum of the durations of memory_calls."},
    {"memory_calls_in_steps", "in counted steps", HU_CELL_COUNT, 0, NULL, alloc_in_steps,
     .help = "memory_calls inside the counted steps, where a caching allocator should need none."},
};
/* clang-format on */

static bool has_calls(const hu_rank *rank)
{
    return rank->digest->calls.n > 0;
}

/* clang-format off */
const hu_view hu_view_waits = {
    .word = "waits", .key = "waits", .facts = facts, .n_facts = HU_COUNT(facts), .tables = wait_tables,
    .n_tables = HU_COUNT(wait_tables), .has = has_calls, .nothing = "no runtime calls recorded",
    .about = "calls that wait for the GPU, with their Python stacks",
};
/* clang-format on */
