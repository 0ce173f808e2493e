/* SPDX-License-Identifier: Apache-2.0
 * hot.c - functions that the CPU was found in. */
#include "render/table/cells.h"

HU_TEXT(name, hot, r->name)
HU_TEXT(module, hot, r->module)
HU_NUMBER(self, hot, r->self)
HU_NUMBER(total, hot, r->total)
HU_NUMBER(main_self, hot, r->main_self)
HU_NUMBER(kernel, hot, r->kernel)
HU_NUMBER(self_pct, hot, hu_share_pct((double)r->self, (double)d->hot.samples))
HU_NUMBER(total_pct, hot, hu_share_pct((double)r->total, (double)d->hot.samples))
HU_NUMBER(self_ns, hot, d->hot.sample_ns ? (double)r->self *(double)d->hot.sample_ns : HU_ABSENT)
HU_ROWS(rows, hot)

static const hu_column columns[] = {
    {"self_samples", "self", HU_CELL_COUNT, 7, NULL, self},
    {"self_pct", "%", HU_CELL_PERCENT, 5, NULL, self_pct},
    {"self_ns", "about", HU_CELL_NS, 9, NULL, self_ns},
    {"total_samples", "total", HU_CELL_COUNT, 7, NULL, total},
    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, total_pct},
    {"main_thread_samples", "main", HU_CELL_COUNT, 7, NULL, main_self},
    {"kernel_samples", NULL, HU_CELL_COUNT, 0, NULL, kernel},
    {"module", "module", HU_CELL_TEXT, 18, NULL, module},
    {"name", "function", HU_CELL_TEXT, 0, NULL, name},
};

const hu_table hu_table_hot = {
    "functions", "CPU samples: top functions", "no samples were recorded", columns, HU_COUNT(columns), rows};
static const hu_table *const tables[] = {&hu_table_hot};

HU_FACT(samples, d->hot.samples)
HU_FACT(sample_ns, d->hot.sample_ns ? (double)d->hot.sample_ns : HU_ABSENT)
HU_FACT(main_samples, d->hot.main_samples)
HU_FACT(kernel_samples, d->hot.kernel_samples)

static const hu_column facts[] = {
    {"samples", "samples", HU_CELL_COUNT, 0, NULL, samples},
    {"sample_ns", "one for each", HU_CELL_NS, 0, NULL, sample_ns},
    {"main_thread_samples", "on main threads", HU_CELL_COUNT, 0, NULL, main_samples},
    {"kernel_samples", "inside the kernel", HU_CELL_COUNT, 0, NULL, kernel_samples},
};

static bool has(const hu_rank *rank)
{
    return rank->digest->hot.samples > 0;
}

/* clang-format off */
const hu_view hu_view_hot = {
    .word = "hot", .key = "cpu_samples", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has, .nothing = "no CPU samples were recorded: holdup run --sample=HZ",
    .about = "functions by CPU samples",
};
/* clang-format on */
