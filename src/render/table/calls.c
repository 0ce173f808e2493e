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

static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total},    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, pct},
    {"calls", "calls", HU_CELL_COUNT, 7, NULL, count},    {"mean_ns", "mean", HU_CELL_NS, 8, NULL, mean},
    {"median_ns", "median", HU_CELL_NS, 8, NULL, median}, {"min_ns", NULL, HU_CELL_NS, 0, NULL, least},
    {"max_ns", "max", HU_CELL_NS, 8, NULL, most},         {"stddev_ns", NULL, HU_CELL_NS, 0, NULL, stddev},
    {"is_sync", NULL, HU_CELL_BOOL, 0, NULL, is_sync},    {"is_memory_call", NULL, HU_CELL_BOOL, 0, NULL, is_alloc},
    {"name", "name", HU_CELL_TEXT, 0, NULL, name},
};

static const hu_table table = {"calls", "Runtime and driver calls", "no calls recorded", columns, HU_COUNT(columns), rows};
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

static const hu_column wait_columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, wait_total},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, wait_calls},
    {"mean_ns", "mean", HU_CELL_NS, 8, NULL, wait_mean, true},
    {"max_ns", "max", HU_CELL_NS, 8, NULL, wait_max},
    {"call", "call", HU_CELL_TEXT, 21, NULL, wait_call},
    {"operator", "in", HU_CELL_TEXT, 0, has_no_stacks, wait_op},
    {"stack", "called from", HU_CELL_TEXT, 0, has_stacks, wait_stack},
};

static const hu_table waits = {
    "waits",  "Calls that wait for the GPU, by place", "nothing waits for the GPU", wait_columns, HU_COUNT(wait_columns),
    wait_rows};
static const hu_table *const wait_tables[] = {&waits};

HU_FACT(all_ns, d->calls.wait_ns)
HU_FACT(all_calls, d->calls.wait_calls)
HU_FACT(per_step, hu_mean((double)d->calls.wait_calls, (double)d->steps.n))
HU_FACT(alloc_calls, d->calls.alloc_calls)
HU_FACT(alloc_ns, d->calls.alloc_ns)
HU_FACT(alloc_in_steps, d->calls.alloc_calls_in_steps)

static const hu_column facts[] = {
    {"wait_calls", "calls that wait for the GPU", HU_CELL_COUNT, 0, NULL, all_calls},
    {"wait_ns", "time in them", HU_CELL_NS, 0, NULL, all_ns},
    {"wait_calls_per_step", "for each step", HU_CELL_NUMBER, 0, NULL, per_step},
    {"memory_calls", "calls that allocate or free driver memory", HU_CELL_COUNT, 0, NULL, alloc_calls},
    {"memory_call_ns", "time in them", HU_CELL_NS, 0, NULL, alloc_ns},
    {"memory_calls_in_steps", "in counted steps", HU_CELL_COUNT, 0, NULL, alloc_in_steps},
};

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
