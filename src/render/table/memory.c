/* SPDX-License-Identifier: Apache-2.0
 * memory.c - pools of memory, what was held at the peak, and the curves. */
#include "render/table/cells.h"

HU_TEXT(name, memory, r->name)
HU_NUMBER(peak, memory, r->peak_bytes)
HU_MOMENT(peak_at, d->memory.at, r->peak_ns)
HU_NUMBER(reserved, memory, r->reserved_bytes > 0 ? (double)r->reserved_bytes : HU_ABSENT)
HU_NUMBER(capacity, memory, r->capacity_bytes ? (double)r->capacity_bytes : HU_ABSENT)
HU_NUMBER(first, memory, r->first_bytes)
HU_NUMBER(last, memory, r->last_bytes)
HU_NUMBER(allocations, memory, r->allocations)
HU_NUMBER(frees, memory, r->frees)
HU_NUMBER(taken, memory, r->allocated_bytes)
HU_NUMBER(relative, memory, r->is_relative)
HU_NUMBER(steps, memory, r->steps)
HU_NUMBER(slope, memory, r->slope_bytes)
HU_NUMBER(growth_p, memory, r->growth_p)
HU_TEXT(leak, memory, hu_str_of(hu_leak_name(r->leak)))
HU_NUMBER(by_before, memory, r->peak_by[HU_MEMORY_BEFORE])
HU_NUMBER(by_temporary, memory, r->peak_by[HU_MEMORY_TEMPORARY])
HU_NUMBER(by_activation, memory, r->peak_by[HU_MEMORY_ACTIVATION])
HU_NUMBER(by_gradient, memory, r->peak_by[HU_MEMORY_GRADIENT])
HU_NUMBER(by_optimizer, memory, r->peak_by[HU_MEMORY_OPTIMIZER])
HU_NUMBER(by_input, memory, r->peak_by[HU_MEMORY_INPUT])
HU_NUMBER(by_other, memory, r->peak_by[HU_MEMORY_OTHER])
HU_ROWS(rows, memory)

static const hu_column columns[] = {
    {"peak_bytes", "peak", HU_CELL_BYTES, 8, NULL, peak},
    {"peak_at_ns", NULL, HU_CELL_NS, 0, NULL, peak_at},
    {"reserved_bytes", "reserved", HU_CELL_BYTES, 8, NULL, reserved},
    {"capacity_bytes", "of", HU_CELL_BYTES, 8, NULL, capacity},
    {"first_bytes", "at first", HU_CELL_BYTES, 8, NULL, first},
    {"last_bytes", "at last", HU_CELL_BYTES, 8, NULL, last},
    {"allocations", "taken", HU_CELL_COUNT, 6, NULL, allocations},
    {"frees", NULL, HU_CELL_COUNT, 0, NULL, frees},
    {"allocated_bytes", NULL, HU_CELL_BYTES, 0, NULL, taken},
    {"is_relative", NULL, HU_CELL_BOOL, 0, NULL, relative},
    {"steps", NULL, HU_CELL_COUNT, 0, NULL, steps},
    {"growth_bytes_per_step", "per step", HU_CELL_BYTES, 8, NULL, slope},
    {"growth_p_value", NULL, HU_CELL_NUMBER, 0, NULL, growth_p},
    {"leak", "leak", HU_CELL_TEXT, 7, NULL, leak},
    {"peak_before_capture_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_before},
    {"peak_temporary_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_temporary},
    {"peak_activation_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_activation},
    {"peak_gradient_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_gradient},
    {"peak_optimizer_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_optimizer},
    {"peak_input_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_input},
    {"peak_other_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_other},
    {"pool", "pool", HU_CELL_TEXT, 0, NULL, name},
};

static const hu_table pools = {"pools", "Memory",          "no allocations were recorded: profile(profile_memory=True)",
                               columns, HU_COUNT(columns), rows};

/* holders */

#define HOLDER d->memory.holders

static size_t holder_rows(const hu_rank *rank)
{
    return rank->digest->memory.n_holders;
}

static bool has_modules(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;

    for (size_t i = 0; i < d->memory.n_holders; i++)
        if (d->memory.holders[i].module.n)
            return true;
    return false;
}

HU_NUMBER_OF(held, HOLDER, r->bytes)
HU_NUMBER_OF(held_count, HOLDER, r->allocations)
HU_TEXT_OF(held_in, HOLDER, r->device)
HU_TEXT_OF(held_as, HOLDER, hu_str_of(hu_memory_category_key((hu_memory_category)r->category)))
HU_TEXT_OF(held_module, HOLDER, r->module)
HU_TEXT_OF(held_by, HOLDER, r->op)

static const hu_column holder_columns[] = {
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, held},
    {"allocations", "count", HU_CELL_COUNT, 6, NULL, held_count},
    {"pool", "pool", HU_CELL_TEXT, 7, NULL, held_in},
    {"category", "category", HU_CELL_TEXT, 10, NULL, held_as},
    {"module", "module", HU_CELL_TEXT, 20, has_modules, held_module},
    {"operator", "taken by", HU_CELL_TEXT, 0, NULL, held_by},
};

static const hu_table holders = {"holders",      "Held at the peak",       "nothing allocated during the capture",
                                 holder_columns, HU_COUNT(holder_columns), holder_rows};

/* curves of the largest pool */

static size_t points(const hu_rank *rank)
{
    return rank->digest->memory.n && rank->digest->memory.at[0].allocated.piece_ns ? HU_SERIES_POINTS : 0;
}

#define CURVE d->memory.at[0].allocated.at

HU_MOMENT(point_start, CURVE, d->memory.at[0].allocated.start_ns + (int64_t)row * d->memory.at[0].allocated.piece_ns)
HU_NUMBER_OF(point_most, CURVE, r->most)
HU_NUMBER_OF(point_mean, CURVE, hu_series_mean(&d->memory.at[0].allocated, (int)row))
HU_NUMBER_OF(point_reserved, CURVE, d->memory.at[0].reserved.at[row].most)

static const hu_column point_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, point_start},
    {"allocated_max_bytes", "allocated, most", HU_CELL_BYTES, 9, NULL, point_most},
    {"allocated_mean_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_mean},
    {"reserved_max_bytes", "reserved, most", HU_CELL_BYTES, 9, NULL, point_reserved},
};

static const hu_table curve = {"series",      "The largest pool over time", "no allocations were recorded",
                               point_columns, HU_COUNT(point_columns),      points,
                               true};

HU_FACT(ooms, d->memory.ooms)
HU_FACT(retries, d->calls.alloc_calls_in_steps)

static const hu_column facts[] = {
    {"out_of_memory", "allocations that failed", HU_CELL_COUNT, 0, NULL, ooms},
    {"driver_calls_in_steps", "driver memory calls in counted steps", HU_CELL_COUNT, 0, NULL, retries},
};

static const hu_table *const tables[] = {&pools, &holders, &curve};

static bool has(const hu_rank *rank)
{
    return rank->digest->memory.n > 0 || rank->digest->memory.ooms > 0;
}

/* clang-format off */
const hu_view hu_view_memory = {
    .word = "memory", .key = "memory", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has, .nothing = "no allocations were recorded: profile(profile_memory=True)",
    .about = "memory: peak and who held it, growth per step, over time",
};
/* clang-format on */
