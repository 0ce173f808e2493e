/* SPDX-License-Identifier: Apache-2.0
 * time.c - the device's time over the whole capture: idle, compute and the rest, and what runs at once. */
#include "render/table/cells.h"

static hu_str part_words(size_t row)
{
    /* clang-format off */
    static const char *const words[HU_PART_SETS] = {
        "idle", "compute", "communication", "compute + communication", "memory", "compute + memory",
        "communication + memory", "compute + communication + memory"};

    return hu_str_of(words[row]);
}

static hu_str part_key(size_t row)
{
    static const char *const keys[HU_PART_SETS] = {"idle", "compute", "comm", "compute+comm", "memory", "compute+memory",
                                                   "comm+memory", "compute+comm+memory"};

    return hu_str_of(keys[row]);
}

static size_t rows(const hu_rank *rank)
{
    return hu_has_device(rank) ? HU_PART_SETS : 0;
}

HU_TEXT_OF(words, d->gpu_time.split_ns, part_words(row))
HU_TEXT_OF(key, d->gpu_time.split_ns, part_key(row))
HU_NUMBER_OF(time, d->gpu_time.split_ns, *r)
HU_NUMBER_OF(pct, d->gpu_time.split_ns, hu_share_pct((double)*r, (double)d->gpu_time.span_ns))

/* clang-format off */
static const hu_column columns[] = {
    {"time_ns", "time", HU_CELL_NS, 10, NULL, time, .source = "HTA: get_gpu_kernel_breakdown",
     .help = "Time in which exactly this combination runs."},
    {"time_pct", "%", HU_CELL_PERCENT, 6, NULL, pct,
     .help = "time_ns as a share of the span."},
    {"part", NULL, HU_CELL_TEXT, 0, NULL, key,
     .help = "The combination: idle, or compute, comm and memory joined by +."},
    {"words", "what runs", HU_CELL_TEXT, 0, NULL, words,
     .help = "The combination in words."},
};

static const hu_table table = {
    .key = "split", .title = "Concurrent work; each instant counts once",
    .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no GPU operations recorded",
    .about = "Time of each combination of compute, communication and memory work; rows add up to the span.",
};
/* clang-format on */

static double non_compute(const hu_gpu_time *g)
{
    return (double)(g->busy_ns - g->compute_ns);
}

HU_FACT(span, d->gpu_time.span_ns)
HU_FACT(idle, hu_gpu_time_idle_ns(&d->gpu_time))
HU_FACT(idle_pct, hu_share_pct((double)hu_gpu_time_idle_ns(&d->gpu_time), (double)d->gpu_time.span_ns))
HU_FACT(compute, d->gpu_time.compute_ns)
HU_FACT(compute_pct, hu_share_pct((double)d->gpu_time.compute_ns, (double)d->gpu_time.span_ns))
HU_FACT(rest, non_compute(&d->gpu_time))
HU_FACT(rest_pct, hu_share_pct(non_compute(&d->gpu_time), (double)d->gpu_time.span_ns))

/* clang-format off */
static const hu_column facts[] = {
    {"span_ns", "first start to last end", HU_CELL_NS, 0, NULL, span, .source = "HTA: kernel_time(us)",
     .help = "Time from the first start to the last end of GPU operations."},
    {"idle_ns", "idle", HU_CELL_NS, 0, NULL, idle, .source = "HTA: idle_time(us)",
     .help = "Time in which nothing runs."},
    {"idle_pct", "idle, %", HU_CELL_PERCENT, 0, NULL, idle_pct,
     .help = "idle_ns as a share of the span."},
    {"compute_ns", "compute", HU_CELL_NS, 0, NULL, compute, .source = "HTA: compute_time(us)",
     .help = "Time in which a compute kernel runs."},
    {"compute_pct", "compute, %", HU_CELL_PERCENT, 0, NULL, compute_pct,
     .help = "compute_ns as a share of the span."},
    {"non_compute_ns", "busy without compute", HU_CELL_NS, 0, NULL, rest, .source = "HTA: non_compute_time(us)",
     .help = "Time in which only copies, memsets or communication run."},
    {"non_compute_pct", "busy without compute, %", HU_CELL_PERCENT, 0, NULL, rest_pct,
     .help = "non_compute_ns as a share of the span."},
};
/* clang-format on */

static const hu_table *const tables[] = {&table};

const hu_view hu_view_time = {
    .word = "time",
    .key = "time",
    .facts = facts,
    .n_facts = HU_COUNT(facts),
    .tables = tables,
    .n_tables = HU_COUNT(tables),
    .has = hu_has_device,
    .nothing = "no GPU operations recorded",
    .about = "the GPU over the capture: idle, compute, rest, all overlaps",
};

/* clang-format on */