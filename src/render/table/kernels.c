/* SPDX-License-Identifier: Apache-2.0
 * kernels.c - kernels by name, their families, and how they fill the device. */
#include "render/table/cells.h"

static bool has_occupancy(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;

    for (size_t i = 0; i < d->kernels.n; i++)
        if (d->kernels.at[i].occupancy_ns > 0)
            return true;
    return false;
}

static bool has_waves(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;

    for (size_t i = 0; i < d->kernels.n; i++)
        if (d->kernels.at[i].waves_ns > 0)
            return true;
    return false;
}

static hu_str tensor_word(hu_tensor_use use)
{
    return use == HU_TENSOR_YES ? HU_STR("yes") : use == HU_TENSOR_NO ? HU_STR("no") : HU_STR("unknown");
}

HU_GETTER(name, d->kernels.at, (out->text = r->name, out->brief = r->short_name))
HU_TEXT(short_name, kernels, r->short_name)
HU_TEXT(label, kernels, r->read.label)
HU_TEXT(family, kernels, hu_str_of(hu_kernel_family_key(r->read.family)))
HU_TEXT(library, kernels, r->read.library)
HU_TEXT(tensor, kernels, tensor_word(r->read.tensor))
HU_NUMBER(is_comm, kernels, r->is_comm)
HU_NUMBER(calls, kernels, r->calls)
HU_NUMBER(calls_per_step, kernels, hu_per_step(d, r->calls_in_steps))
HU_NUMBER(total, kernels, r->total_ns)
HU_NUMBER(pct, kernels, hu_share_pct((double)r->total_ns, (double)d->kernels.total_ns))
HU_NUMBER(mean, kernels, hu_mean((double)r->total_ns, (double)r->calls))
HU_NUMBER(least, kernels, r->min_ns)
HU_NUMBER(most, kernels, r->max_ns)
HU_NUMBER(stddev, kernels, hu_kernel_stddev_ns(r))
HU_NUMBER(variation, kernels, hu_share_pct(hu_kernel_stddev_ns(r), r->mean_ns))
HU_NUMBER(grid_x, kernels, r->grid[0] ? r->grid[0] : HU_ABSENT)
HU_NUMBER(grid_y, kernels, r->grid[0] ? r->grid[1] : HU_ABSENT)
HU_NUMBER(grid_z, kernels, r->grid[0] ? r->grid[2] : HU_ABSENT)
HU_NUMBER(block_x, kernels, r->block[0] ? r->block[0] : HU_ABSENT)
HU_NUMBER(block_y, kernels, r->block[0] ? r->block[1] : HU_ABSENT)
HU_NUMBER(block_z, kernels, r->block[0] ? r->block[2] : HU_ABSENT)
HU_NUMBER(blocks, kernels, r->grid[0] ? (double)r->grid[0] * r->grid[1] * r->grid[2] : HU_ABSENT)
HU_NUMBER(threads, kernels, r->block[0] ? (double)r->block[0] * r->block[1] * r->block[2] : HU_ABSENT)
HU_NUMBER(varies, kernels, r->geometry_varies)
HU_NUMBER(registers, kernels, r->registers ? r->registers : HU_ABSENT)
HU_NUMBER(shared, kernels, r->grid[0] ? r->shared_bytes : HU_ABSENT)
HU_NUMBER(occupancy, kernels, hu_kernel_occupancy_pct(r))
HU_NUMBER(waves, kernels, hu_kernel_waves(r))
HU_NUMBER(tail, kernels, hu_kernel_tail_pct(r))
HU_NUMBER(sm, kernels, hu_kernel_sm_pct(r))
HU_NUMBER(eligible, kernels, r->eligible_ns)
HU_ROWS(rows, kernels)

/* clang-format off */
static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total, .values = "0..",
     .help = "Sum of the durations of all launches of this kernel."},
    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, pct, .values = "0..100|null",
     .help = "total_ns as a share of the sum over all kernels."},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, calls, .values = "1..",
     .help = "Number of launches."},
    {"calls_per_step", NULL, HU_CELL_NUMBER, 0, NULL, calls_per_step, .values = "0..|null", .unit = "per step",
     .help = "Launches inside the counted steps over their number; null without steps."},
    {"mean_ns", "mean", HU_CELL_NS, 8, NULL, mean, .values = "0..",
     .help = "Mean duration."},
    {"min_ns", NULL, HU_CELL_NS, 0, NULL, least, .values = "0..",
     .help = "Shortest duration."},
    {"max_ns", "max", HU_CELL_NS, 8, NULL, most, .is_wide = true, .values = "0..",
     .help = "Longest duration."},
    {"stddev_ns", NULL, HU_CELL_NS, 0, NULL, stddev, .values = "0..|null",
     .help = "Sample standard deviation of the duration; null for fewer than two launches."},
    {"variation_pct", "±%", HU_CELL_PERCENT, 5, NULL, variation, .is_wide = true,
     .help = "stddev_ns as a share of the mean; null for fewer than two launches."},
    {"blocks", "blocks", HU_CELL_COUNT, 7, NULL, blocks, .values = "0..|null",
     .help = "Thread blocks of the grid of the first launch; null when unknown."},
    {"threads", "threads", HU_CELL_COUNT, 7, NULL, threads, .is_wide = true, .values = "0..|null",
     .help = "Threads per block of the first launch; null when unknown."},
    {"grid_x", NULL, HU_CELL_COUNT, 0, NULL, grid_x, .values = "0..|null", .unit = "blocks",
     .help = "Grid of the first launch in x; null when unknown."},
    {"grid_y", NULL, HU_CELL_COUNT, 0, NULL, grid_y, .values = "0..|null", .unit = "blocks",
     .help = "Grid of the first launch in y; null when unknown."},
    {"grid_z", NULL, HU_CELL_COUNT, 0, NULL, grid_z, .values = "0..|null", .unit = "blocks",
     .help = "Grid of the first launch in z; null when unknown."},
    {"block_x", NULL, HU_CELL_COUNT, 0, NULL, block_x, .values = "0..|null", .unit = "threads",
     .help = "Block of the first launch in x; null when unknown."},
    {"block_y", NULL, HU_CELL_COUNT, 0, NULL, block_y, .values = "0..|null", .unit = "threads",
     .help = "Block of the first launch in y; null when unknown."},
    {"block_z", NULL, HU_CELL_COUNT, 0, NULL, block_z, .values = "0..|null", .unit = "threads",
     .help = "Block of the first launch in z; null when unknown."},
    {"geometry_varies", NULL, HU_CELL_BOOL, 0, NULL, varies,
     .help = "Whether launches differ in grid or block."},
    {"registers_per_thread", NULL, HU_CELL_COUNT, 0, NULL, registers, .values = "1..|null",
     .help = "Registers per thread of the first launch; null when unknown."},
    {"shared_bytes", NULL, HU_CELL_BYTES, 0, NULL, shared, .values = "0..|null",
     .help = "Shared memory per block of the first launch; null when unknown."},
    {"occupancy_pct", "occ%", HU_CELL_PERCENT, 5, has_occupancy, occupancy, .source = "CUPTI: est. achieved occupancy %",
     .help = "Estimated achieved occupancy, mean weighted by duration; null when unknown."},
    {"sm_efficiency_pct", NULL, HU_CELL_PERCENT, 0, NULL, sm, .source = "torch-tb-profiler: est. SM efficiency",
     .help = "min(blocks / SMs, 1), mean weighted by duration; null when unknown."},
    {"waves", "waves", HU_CELL_NUMBER, 6, has_waves, waves, .is_wide = true, .unit = "waves",
     .source = "CUDA occupancy calculator",
     .help = "Blocks over the blocks that fit on the device at once, mean weighted by duration; null when unknown."},
    {"tail_efficiency_pct", "tail%", HU_CELL_PERCENT, 5, has_waves, tail, .is_wide = true,
     .help = "waves over waves rounded up: the share of its block slots that the kernel fills; null when unknown."},
    {"tensor_cores", NULL, HU_CELL_TEXT, 0, NULL, tensor,
     .help = "Whether the kernel uses tensor cores, as far as its name tells: yes, no or unknown."},
    {"tensor_eligible_ns", NULL, HU_CELL_NS, 0, NULL, eligible, .source = "torch-tb-profiler: tensor cores eligible",
     .help = "Time under operators that could use tensor cores (matmul, convolution, attention, RNN cells)."},
    {"family", NULL, HU_CELL_TEXT, 0, NULL, family,
     .help = "What the kernel does, read off its name."},
    {"library", NULL, HU_CELL_TEXT, 0, NULL, library,
     .help = "Library that the kernel comes from, read off its name; empty when unknown."},
    {"is_communication", NULL, HU_CELL_BOOL, 0, NULL, is_comm,
     .help = "Whether the kernel is communication (NCCL, RCCL, ...) not compute."},
    {"short_name", NULL, HU_CELL_TEXT, 0, NULL, short_name,
     .help = "What the name says of operation, type and tile, in at most 48 characters; no two kernels have the same."},
    {"label", NULL, HU_CELL_TEXT, 0, NULL, label,
     .help = "Name without templates and namespaces."},
    {"name", "name", HU_CELL_TEXT, 0, NULL, name,
     .help = "Name of the kernel, as recorded."},
};

const hu_table hu_table_kernels = {
    .key = "kernels", .title = "Kernels", .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no kernels were recorded",
    .about = "GPU kernels, communication included, summed by name.",
};
/* clang-format on */

static const hu_table *const tables[] = {&hu_table_kernels};

/* clang-format off */
const hu_view hu_view_kernels = {
    .word = "kernels", .key = "kernels", .is_list = true, .tables = tables, .n_tables = HU_COUNT(tables),
    .about = "kernels: time, spread, geometry, occupancy, waves, tensor cores",
};
/* clang-format on */

/* families: rows without time are left out, so row numbers are looked up */

static size_t family_rows(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;
    size_t           n = 0;

    for (hu_kernel_family f = 0; f < HU_FAMILY_COUNT; f++)
        n += d->kernels.family[f].calls > 0;
    return n;
}

/* The families by time, then in the order of the list. */
static const hu_kernel_family_time *family_at(const hu_rank *rank, size_t row)
{
    const hu_digest             *d = rank->digest;
    const hu_kernel_family_time *all = d->kernels.family;

    for (size_t i = 0; i < HU_FAMILY_COUNT; i++) {
        size_t before = 0;

        for (size_t k = 0; k < HU_FAMILY_COUNT; k++)
            before += all[k].calls > 0 &&
                      (all[k].total_ns > all[i].total_ns || (all[k].total_ns == all[i].total_ns && k < i));
        if (all[i].calls > 0 && before == row)
            return &all[i];
    }
    return &all[0];
}

#define FAMILY(name, expression)                                    \
    static void name(const hu_rank *rank, size_t row, hu_cell *out) \
    {                                                               \
        const hu_kernel_family_time *r = family_at(rank, row);      \
                                                                    \
        out->number = (double)(expression);                         \
    }

static void family_key(const hu_rank *rank, size_t row, hu_cell *out)
{
    out->text = hu_str_of(hu_kernel_family_key(family_at(rank, row)->family));
}

static void family_words(const hu_rank *rank, size_t row, hu_cell *out)
{
    out->is_plain = true;
    out->text = hu_str_of(hu_kernel_family_words(family_at(rank, row)->family));
}

FAMILY(family_total, r->total_ns)
FAMILY(family_pct, hu_share_pct((double)r->total_ns, (double)rank->digest->kernels.total_ns))
FAMILY(family_calls, r->calls)
FAMILY(family_kernels, r->kernels)
FAMILY(family_mean, hu_mean((double)r->total_ns, (double)r->calls))
FAMILY(family_tensor, r->tensor_ns)
FAMILY(family_tensor_pct, hu_share_pct((double)r->tensor_ns, (double)r->total_ns))
FAMILY(family_unknown, r->unknown_ns)
FAMILY(family_eligible, r->eligible_ns)

/* clang-format off */
static const hu_column family_columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, family_total,
     .help = "Sum of the durations of the family's kernels."},
    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, family_pct,
     .help = "total_ns as a share of the sum over all kernels."},
    {"calls", "calls", HU_CELL_COUNT, 8, NULL, family_calls,
     .help = "Number of launches."},
    {"kernels", "names", HU_CELL_COUNT, 6, NULL, family_kernels,
     .help = "Number of different kernel names."},
    {"mean_ns", "mean", HU_CELL_NS, 9, NULL, family_mean,
     .help = "Mean duration of a launch."},
    {"tensor_ns", "on TC", HU_CELL_NS, 9, NULL, family_tensor,
     .help = "Time in kernels that use tensor cores, as far as names tell."},
    {"tensor_pct", "%", HU_CELL_PERCENT, 5, NULL, family_tensor_pct,
     .help = "tensor_ns as a share of the family's time."},
    {"tensor_unknown_ns", NULL, HU_CELL_NS, 0, NULL, family_unknown,
     .help = "Time in kernels whose names do not tell whether they use tensor cores."},
    {"tensor_eligible_ns", NULL, HU_CELL_NS, 0, NULL, family_eligible,
     .help = "Time under operators that could use tensor cores."},
    {"family", NULL, HU_CELL_TEXT, 0, NULL, family_key,
     .help = "Stable name of the family."},
    {"words", "family", HU_CELL_TEXT, 0, NULL, family_words,
     .help = "The family in words."},
};

static const hu_table family_table = {
    .key = "families", .title = "Kernel families",
    .columns = family_columns, .n_columns = HU_COUNT(family_columns), .rows = family_rows,
    .empty = "no kernels were recorded",
    .about = "Kernels by what they do, read off their names; families without time are left out.",
};
/* clang-format on */

static int64_t sum(const hu_rank *rank, size_t offset)
{
    const hu_digest *d = rank->digest;
    int64_t          ns = 0;

    for (hu_kernel_family f = 0; f < HU_FAMILY_COUNT; f++)
        ns += *(const int64_t *)((const char *)&d->kernels.family[f] + offset);
    return ns;
}

static double kernels_ns(const hu_rank *rank)
{
    return (double)(rank->digest->kernels.total_ns - rank->digest->kernels.family[HU_FAMILY_COMMUNICATION].total_ns);
}

/* The mean over kernels, weighted by their time. */
static double weighted(const hu_rank *rank, size_t part, size_t whole)
{
    const hu_digest *d = rank->digest;
    double           a = 0, b = 0;

    for (size_t i = 0; i < d->kernels.n; i++) {
        a += *(const double *)((const char *)&d->kernels.at[i] + part);
        b += *(const double *)((const char *)&d->kernels.at[i] + whole);
    }
    return b > 0 ? a / b : HU_ABSENT;
}

HU_FACT(compute_sum, kernels_ns(rank))
HU_FACT(tensor_sum, sum(rank, offsetof(hu_kernel_family_time, tensor_ns)))
HU_FACT(tensor_pct, hu_share_pct((double)sum(rank, offsetof(hu_kernel_family_time, tensor_ns)), kernels_ns(rank)))
HU_FACT(unknown_pct, hu_share_pct((double)sum(rank, offsetof(hu_kernel_family_time, unknown_ns)), kernels_ns(rank)))
HU_FACT(eligible_pct, hu_share_pct((double)sum(rank, offsetof(hu_kernel_family_time, eligible_ns)), kernels_ns(rank)))
HU_FACT(occupancy_mean, weighted(rank, offsetof(hu_kernel, occupancy_sum), offsetof(hu_kernel, occupancy_ns)))
HU_FACT(sm_efficiency, hu_share_pct(d->kernels.sm_busy_ns, d->kernels.sm_known_ns))
HU_FACT(tail_mean, 100 * weighted(rank, offsetof(hu_kernel, tail_sum), offsetof(hu_kernel, waves_ns)))

/* clang-format off */
static const hu_column family_facts[] = {
    {"compute_sum_ns", "time in compute kernels, summed", HU_CELL_NS, 0, NULL, compute_sum,
     .help = "Sum of the durations of all kernels but communication."},
    {"tensor_ns", "of it on tensor cores, by kernel name", HU_CELL_NS, 0, NULL, tensor_sum,
     .help = "Time of it in kernels that use tensor cores, as far as names tell."},
    {"tensor_pct", "on tensor cores, %", HU_CELL_PERCENT, 0, NULL, tensor_pct,
     .help = "tensor_ns as a share of compute_sum_ns."},
    {"tensor_unknown_pct", "names that do not tell, %", HU_CELL_PERCENT, 0, NULL, unknown_pct,
     .help = "Share of compute_sum_ns in kernels whose names do not tell."},
    {"tensor_eligible_pct", "under operators that could use them, %", HU_CELL_PERCENT, 0, NULL, eligible_pct,
     .source = "torch-tb-profiler: tensor cores eligible",
     .help = "Share of compute_sum_ns under operators that could use tensor cores."},
    {"occupancy_pct", "achieved occupancy (estimate), %", HU_CELL_PERCENT, 0, NULL, occupancy_mean,
     .source = "CUPTI: est. achieved occupancy %",
     .help = "Estimated achieved occupancy, mean over kernels weighted by duration."},
    {"sm_efficiency_pct", "SMs with work while kernels run, %", HU_CELL_PERCENT, 0, NULL, sm_efficiency,
     .source = "torch-tb-profiler: est. SM efficiency",
     .help = "Share of SMs that hold a block, averaged over the time in which kernels run."},
    {"tail_efficiency_pct", "wave slots filled by kernels, %", HU_CELL_PERCENT, 0, NULL, tail_mean,
     .help = "Share of the block slots of their waves that kernels fill, mean weighted by duration."},
};
/* clang-format on */

static const hu_table *const family_tables[] = {&family_table};

/* clang-format off */
const hu_view hu_view_families = {
    .word = "families", .key = "kernel_families", .facts = family_facts, .n_facts = HU_COUNT(family_facts),
    .tables = family_tables, .n_tables = HU_COUNT(family_tables),
    .about = "kernels by what they do; tensor cores, occupancy, SM efficiency",
};
/* clang-format on */
