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

/* clang-format off */
static const hu_column columns[] = {
    {"peak_bytes", "peak", HU_CELL_BYTES, 8, NULL, peak,
     .help = "Most bytes that were allocated at once."},
    {"peak_at_ns", NULL, HU_CELL_NS, 0, NULL, peak_at,
     .help = "Time of the peak, on the clock of the trace."},
    {"reserved_bytes", "reserved", HU_CELL_BYTES, 8, NULL, reserved,
     .help = "Most bytes that the caching allocator reserved; null when not recorded."},
    {"capacity_bytes", "of", HU_CELL_BYTES, 8, NULL, capacity,
     .help = "Memory of the device; null when unknown."},
    {"first_bytes", "at first", HU_CELL_BYTES, 8, NULL, first,
     .help = "Bytes allocated before the first record."},
    {"last_bytes", "at last", HU_CELL_BYTES, 8, NULL, last,
     .help = "Bytes allocated after the last record."},
    {"allocations", "allocs", HU_CELL_COUNT, 6, NULL, allocations,
     .help = "Number of allocations."},
    {"frees", NULL, HU_CELL_COUNT, 0, NULL, frees,
     .help = "Number of frees."},
    {"allocated_bytes", NULL, HU_CELL_BYTES, 0, NULL, taken,
     .help = "Sum of the sizes of all allocations."},
    {"is_relative", NULL, HU_CELL_BOOL, 0, NULL, relative,
     .help = "Whether the recorder gave no totals, so that bytes count from the first record."},
    {"steps", NULL, HU_CELL_COUNT, 0, NULL, steps,
     .help = "Steps that the growth was measured over."},
    {"growth_bytes_per_step", "per step", HU_CELL_BYTES, 8, NULL, slope, .source = "Theil-Sen estimator",
     .help = "Growth of the bytes held at the end of a step: the median slope over all pairs of steps; null for fewer "
             "than three steps."},
    {"growth_p_value", NULL, HU_CELL_NUMBER, 0, NULL, growth_p, .unit = "0..1", .source = "Mann-Kendall test",
     .help = "Two-sided chance of such a trend where there is none."},
    {"leak", "leak", HU_CELL_TEXT, 7, NULL, leak,
     .help = "yes below p = 0.01 when growth over the capture exceeds 0.5 % of the peak, maybe below 0.05 or with "
             "three or four steps, else no or unknown."},
    {"peak_before_capture_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_before,
     .help = "Bytes held at the peak that were allocated before the capture."},
    {"peak_temporary_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_temporary,
     .help = "Bytes held at the peak that the allocating operator freed itself."},
    {"peak_activation_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_activation,
     .help = "Bytes held at the peak that were allocated outside backward and freed in backward."},
    {"peak_gradient_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_gradient,
     .help = "Bytes held at the peak that were allocated in backward."},
    {"peak_optimizer_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_optimizer,
     .help = "Bytes held at the peak that were allocated in Optimizer.step."},
    {"peak_input_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_input,
     .help = "Bytes held at the peak that were allocated in the data loader."},
    {"peak_other_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_other,
     .help = "Bytes held at the peak in none of the other categories."},
    {"pool", "pool", HU_CELL_TEXT, 0, NULL, name,
     .help = "Name of the pool: cpu, cuda:0 ..."},
};

static const hu_table pools = {
    .key = "pools", .title = "Memory", .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no allocations were recorded: profile(profile_memory=True)",
    .about = "Memory pools of the framework: the CPU's and each device's.",
};
/* clang-format on */

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

/* clang-format off */
static const hu_column holder_columns[] = {
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, held,
     .help = "Bytes held at the peak of the pool."},
    {"allocations", "count", HU_CELL_COUNT, 6, NULL, held_count,
     .help = "Number of these allocations."},
    {"pool", "pool", HU_CELL_TEXT, 7, NULL, held_in,
     .help = "Name of the pool."},
    {"category", "category", HU_CELL_TEXT, 10, NULL, held_as,
     .help = "What the allocation is for, judged from when it was made and freed: before_capture, temporary, "
             "activation, gradient, optimizer, input or other."},
    {"module", "module", HU_CELL_TEXT, 20, has_modules, held_module,
     .help = "nn.Module around the operator; empty when unknown."},
    {"operator", "allocated by", HU_CELL_TEXT, 0, NULL, held_by,
     .help = "Innermost operator that allocated it; empty when there is none."},
};

static const hu_table holders = {
    .key = "holders", .title = "Held at the peak",
    .columns = holder_columns, .n_columns = HU_COUNT(holder_columns), .rows = holder_rows,
    .empty = "nothing allocated during the capture",
    .about = "Who had allocated what was held at the peak of its pool, largest first.",
};
/* clang-format on */

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

/* clang-format off */
static const hu_column point_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, point_start,
     .help = "Start of the slot, on the clock of the trace."},
    {"allocated_max_bytes", "allocated, max", HU_CELL_BYTES, 9, NULL, point_most,
     .help = "Most bytes allocated at once in the slot."},
    {"allocated_mean_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_mean,
     .help = "Mean of the bytes allocated in the slot."},
    {"reserved_max_bytes", "reserved, max", HU_CELL_BYTES, 9, NULL, point_reserved,
     .help = "Most bytes that the caching allocator reserved in the slot."},
};

static const hu_table curve = {
    .key = "series", .title = "Largest pool over time",
    .columns = point_columns, .n_columns = HU_COUNT(point_columns), .rows = points, .is_series = true,
    .empty = "no allocations were recorded",
    .about = "Bytes of the largest pool, in 200 equal slots of the capture.",
};
/* clang-format on */

HU_FACT(ooms, d->memory.ooms)
HU_FACT(retries, d->calls.alloc_calls_in_steps)

/* clang-format off */
static const hu_column facts[] = {
    {"out_of_memory", "failed allocations", HU_CELL_COUNT, 0, NULL, ooms,
     .help = "Allocations that failed for lack of memory."},
    {"driver_calls_in_steps", "driver memory calls in counted steps", HU_CELL_COUNT, 0, NULL, retries,
     .help = "Driver calls for memory inside the counted steps; a warm caching allocator needs none."},
};
/* clang-format on */

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
