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

/* clang-format off */
static const hu_column columns[] = {
    {"self_samples", "self", HU_CELL_COUNT, 7, NULL, self,
     .help = "Samples whose innermost function this is."},
    {"self_pct", "%", HU_CELL_PERCENT, 5, NULL, self_pct,
     .help = "self_samples as a share of all samples."},
    {"self_ns", "about", HU_CELL_NS, 9, NULL, self_ns,
     .help = "CPU time that self_samples stand for (samples times sample_ns); null when the trace does not say."},
    {"total_samples", "total", HU_CELL_COUNT, 7, NULL, total,
     .help = "Samples whose call chain holds this function, once each however often it calls itself."},
    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, total_pct,
     .help = "total_samples as a share of all samples."},
    {"main_thread_samples", "main", HU_CELL_COUNT, 7, NULL, main_self,
     .help = "Samples of self_samples that were taken on the main thread of a process."},
    {"kernel_samples", NULL, HU_CELL_COUNT, 0, NULL, kernel,
     .help = "Samples of total_samples that were taken inside the operating system's kernel."},
    {"module", "module", HU_CELL_TEXT, 18, NULL, module,
     .help = "Program or library of the function, or [kernel] or [unknown]."},
    {"name", "function", HU_CELL_TEXT, 0, NULL, name,
     .help = "Function; all that a module has no symbols for is one row."},
};

const hu_table hu_table_hot = {
    .key = "functions", .title = "CPU samples: top functions",
    .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no samples were recorded",
    .about = "Functions that the CPU was sampled in, by samples.",
};
/* clang-format on */
static const hu_table *const tables[] = {&hu_table_hot};

HU_FACT(samples, d->hot.samples)
HU_FACT(sample_ns, d->hot.sample_ns ? (double)d->hot.sample_ns : HU_ABSENT)
HU_FACT(main_samples, d->hot.main_samples)
HU_FACT(kernel_samples, d->hot.kernel_samples)

/* clang-format off */
static const hu_column facts[] = {
    {"samples", "samples", HU_CELL_COUNT, 0, NULL, samples,
     .help = "Number of samples."},
    {"sample_ns", "CPU time of one sample", HU_CELL_NS, 0, NULL, sample_ns,
     .help = "CPU time that one sample stands for; null when the trace does not say."},
    {"main_thread_samples", "on main threads", HU_CELL_COUNT, 0, NULL, main_samples,
     .help = "Samples taken on the main threads of processes."},
    {"kernel_samples", "inside the OS kernel", HU_CELL_COUNT, 0, NULL, kernel_samples,
     .help = "Samples taken inside the operating system's kernel."},
};
/* clang-format on */

static bool has(const hu_rank *rank)
{
    return rank->digest->hot.samples > 0;
}

/* clang-format off */
const hu_view hu_view_hot = {
    .word = "hot", .key = "cpu_samples", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has,
    .nothing = "no CPU samples were recorded: holdup run --sample=HZ, nsys profile --sample=process-tree",
    .about = "functions by CPU samples",
};
/* clang-format on */
