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

HU_TEXT(name, kernels, r->name)
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

static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total},
    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, pct},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, calls},
    {"calls_per_step", NULL, HU_CELL_NUMBER, 0, NULL, calls_per_step},
    {"mean_ns", "mean", HU_CELL_NS, 8, NULL, mean},
    {"min_ns", NULL, HU_CELL_NS, 0, NULL, least},
    {"max_ns", "max", HU_CELL_NS, 8, NULL, most, true},
    {"stddev_ns", NULL, HU_CELL_NS, 0, NULL, stddev},
    {"variation_pct", "±%", HU_CELL_PERCENT, 5, NULL, variation, true},
    {"blocks", "blocks", HU_CELL_COUNT, 7, NULL, blocks},
    {"threads", "threads", HU_CELL_COUNT, 7, NULL, threads, true},
    {"grid_x", NULL, HU_CELL_COUNT, 0, NULL, grid_x},
    {"grid_y", NULL, HU_CELL_COUNT, 0, NULL, grid_y},
    {"grid_z", NULL, HU_CELL_COUNT, 0, NULL, grid_z},
    {"block_x", NULL, HU_CELL_COUNT, 0, NULL, block_x},
    {"block_y", NULL, HU_CELL_COUNT, 0, NULL, block_y},
    {"block_z", NULL, HU_CELL_COUNT, 0, NULL, block_z},
    {"geometry_varies", NULL, HU_CELL_BOOL, 0, NULL, varies},
    {"registers_per_thread", NULL, HU_CELL_COUNT, 0, NULL, registers},
    {"shared_bytes", NULL, HU_CELL_BYTES, 0, NULL, shared},
    {"occupancy_pct", "occ%", HU_CELL_PERCENT, 5, has_occupancy, occupancy},
    {"sm_efficiency_pct", NULL, HU_CELL_PERCENT, 0, NULL, sm},
    {"waves", "waves", HU_CELL_NUMBER, 6, has_waves, waves, true},
    {"tail_efficiency_pct", "tail%", HU_CELL_PERCENT, 5, has_waves, tail, true},
    {"tensor_cores", NULL, HU_CELL_TEXT, 0, NULL, tensor},
    {"tensor_eligible_ns", NULL, HU_CELL_NS, 0, NULL, eligible},
    {"family", NULL, HU_CELL_TEXT, 0, NULL, family},
    {"library", NULL, HU_CELL_TEXT, 0, NULL, library},
    {"is_communication", NULL, HU_CELL_BOOL, 0, NULL, is_comm},
    {"label", NULL, HU_CELL_TEXT, 0, NULL, label},
    {"name", "name", HU_CELL_TEXT, 0, NULL, name},
};

const hu_table hu_table_kernels = {"kernels", "Kernels", "no kernels were recorded", columns, HU_COUNT(columns), rows};

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

static const hu_column family_columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, family_total},
    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, family_pct},
    {"calls", "calls", HU_CELL_COUNT, 8, NULL, family_calls},
    {"kernels", "names", HU_CELL_COUNT, 6, NULL, family_kernels},
    {"mean_ns", "mean", HU_CELL_NS, 9, NULL, family_mean},
    {"tensor_ns", "on tensor", HU_CELL_NS, 9, NULL, family_tensor},
    {"tensor_pct", "%", HU_CELL_PERCENT, 5, NULL, family_tensor_pct},
    {"tensor_unknown_ns", NULL, HU_CELL_NS, 0, NULL, family_unknown},
    {"tensor_eligible_ns", NULL, HU_CELL_NS, 0, NULL, family_eligible},
    {"family", NULL, HU_CELL_TEXT, 0, NULL, family_key},
    {"words", "family", HU_CELL_TEXT, 0, NULL, family_words},
};

static const hu_table family_table = {
    "families", "Families", "no kernels were recorded", family_columns, HU_COUNT(family_columns), family_rows};

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

static const hu_column family_facts[] = {
    {"compute_sum_ns", "time in kernels that compute", HU_CELL_NS, 0, NULL, compute_sum},
    {"tensor_ns", "of it on tensor cores, by name", HU_CELL_NS, 0, NULL, tensor_sum},
    {"tensor_pct", "on tensor cores, %", HU_CELL_PERCENT, 0, NULL, tensor_pct},
    {"tensor_unknown_pct", "not known, %", HU_CELL_PERCENT, 0, NULL, unknown_pct},
    {"tensor_eligible_pct", "under operators that could use them, %", HU_CELL_PERCENT, 0, NULL, eligible_pct},
    {"occupancy_pct", "achieved occupancy (estimate), %", HU_CELL_PERCENT, 0, NULL, occupancy_mean},
    {"sm_efficiency_pct", "SMs with work while kernels run, %", HU_CELL_PERCENT, 0, NULL, sm_efficiency},
    {"tail_efficiency_pct", "wave slots filled by kernels, %", HU_CELL_PERCENT, 0, NULL, tail_mean},
};

static const hu_table *const family_tables[] = {&family_table};

/* clang-format off */
const hu_view hu_view_families = {
    .word = "families", .key = "kernel_families", .facts = family_facts, .n_facts = HU_COUNT(family_facts),
    .tables = family_tables, .n_tables = HU_COUNT(family_tables),
    .about = "kernels by what they do; tensor cores, occupancy, SM efficiency",
};
/* clang-format on */
