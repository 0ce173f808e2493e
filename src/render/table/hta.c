/* SPDX-License-Identifier: Apache-2.0
 * hta.c - HolisticTraceAnalysis's tables, with --compat hta. */
#include "render/table/cells.h"

HU_FACT(rows_kept, d->hta->rows)
HU_FACT(gpu_rows, d->hta->gpu_rows)
HU_FACT(kernel_time, d->hta->kernel_us)
HU_FACT(idle_time, d->hta->idle_us)
HU_FACT(idle_pct, hu_share_pct(d->hta->idle_us, d->hta->kernel_us))
HU_FACT(compute_time, d->hta->compute_us)
HU_FACT(compute_pct, hu_share_pct(d->hta->compute_us, d->hta->kernel_us))
HU_FACT(non_compute_time, d->hta->non_compute_us)
HU_FACT(non_compute_pct, hu_share_pct(d->hta->non_compute_us, d->hta->kernel_us))
HU_FACT(overlap_pct, d->hta->overlap_pct)
HU_FACT(launches, d->hta->launches)
HU_FACT(short_kernels, d->hta->short_kernels)
HU_FACT(runtime_outliers, d->hta->runtime_outliers)
HU_FACT(delay_outliers, d->hta->delay_outliers)
HU_FACT(cpu_sum, d->hta->cpu_us)
HU_FACT(gpu_sum, d->hta->gpu_us)
HU_FACT(delay_sum, d->hta->delay_us)
HU_FACT(is_rounded, d->hta->is_rounded)
HU_FACT(sync_rows, d->hta->sync_rows)
HU_FACT(operator_rows, d->hta->operator_rows)
HU_FACT(dropped_rows, d->hta->dropped_rows)
HU_FACT(negative_rows, d->hta->negative_rows)

static const hu_column facts[] = {
    {"rows", "rows that HTA keeps", HU_CELL_COUNT, 0, NULL, rows_kept},
    {"gpu_rows", "of them device work, as HTA sees it", HU_CELL_COUNT, 0, NULL, gpu_rows},
    {"kernel_time_us", "kernel_time(us)", HU_CELL_NUMBER, 0, NULL, kernel_time},
    {"idle_time_us", "idle_time(us)", HU_CELL_NUMBER, 0, NULL, idle_time},
    {"idle_time_pct", "idle_time_pctg", HU_CELL_PERCENT, 0, NULL, idle_pct},
    {"compute_time_us", "compute_time(us)", HU_CELL_NUMBER, 0, NULL, compute_time},
    {"compute_time_pct", "compute_time_pctg", HU_CELL_PERCENT, 0, NULL, compute_pct},
    {"non_compute_time_us", "non_compute_time(us)", HU_CELL_NUMBER, 0, NULL, non_compute_time},
    {"non_compute_time_pct", "non_compute_time_pctg", HU_CELL_PERCENT, 0, NULL, non_compute_pct},
    {"comp_comm_overlap_pct", "comp_comm_overlap_pctg", HU_CELL_PERCENT, 0, NULL, overlap_pct},
    {"launches", "launches with their work", HU_CELL_COUNT, 0, NULL, launches},
    {"short_kernels", "gpu_duration < cpu_duration", HU_CELL_COUNT, 0, NULL, short_kernels},
    {"runtime_outliers", "cpu_duration > 50 us", HU_CELL_COUNT, 0, NULL, runtime_outliers},
    {"launch_delay_outliers", "launch_delay > 100 us", HU_CELL_COUNT, 0, NULL, delay_outliers},
    {"cpu_duration_sum_us", NULL, HU_CELL_NUMBER, 0, NULL, cpu_sum},
    {"gpu_duration_sum_us", NULL, HU_CELL_NUMBER, 0, NULL, gpu_sum},
    {"launch_delay_sum_us", NULL, HU_CELL_NUMBER, 0, NULL, delay_sum},
    {"is_rounded", NULL, HU_CELL_BOOL, 0, NULL, is_rounded},
    {"sync_rows", "defect: sync records taken for device work", HU_CELL_COUNT, 0, NULL, sync_rows},
    {"operator_rows", "defect: operators taken for device work", HU_CELL_COUNT, 0, NULL, operator_rows},
    {"dropped_rows", "defect: rows that are left out", HU_CELL_COUNT, 0, NULL, dropped_rows},
    {"negative_rows", "defect: durations below 0 after rounding", HU_CELL_COUNT, 0, NULL, negative_rows},
};

/* idle time: three rows for each stream */

#define IDLE d->hta->idle

static size_t idle_rows(const hu_rank *rank)
{
    return rank->digest->hta->n_idle * HU_HTA_WAITS;
}

static hu_str wait_name(size_t row)
{
    static const char *const names[] = {"host_wait", "kernel_wait", "other"};

    return hu_str_of(names[row % HU_HTA_WAITS]);
}

static double idle_sum(const hu_hta_idle *s)
{
    return s->idle_us[0] + s->idle_us[1] + s->idle_us[2];
}

#define IDLE_NUMBER(name, expression)                               \
    static void name(const hu_rank *rank, size_t row, hu_cell *out) \
    {                                                               \
        const hu_digest   *d = rank->digest;                        \
        const hu_hta_idle *r = &IDLE[row / HU_HTA_WAITS];           \
                                                                    \
        out->number = (double)(expression);                         \
    }

IDLE_NUMBER(idle_stream, r->stream)
IDLE_NUMBER(idle_us, r->idle_us[row % HU_HTA_WAITS])
IDLE_NUMBER(idle_gaps, r->gaps[row % HU_HTA_WAITS])
IDLE_NUMBER(idle_share, idle_sum(r) > 0 ? 100 * r->idle_us[row % HU_HTA_WAITS] / idle_sum(r) : HU_ABSENT)

static void idle_category(const hu_rank *rank, size_t row, hu_cell *out)
{
    const hu_digest *d = rank->digest;

    (void)d;
    out->text = wait_name(row);
}

static const hu_column idle_columns[] = {
    {"stream", "stream", HU_CELL_COUNT, 7, NULL, idle_stream},
    {"idle_time_us", "idle_time", HU_CELL_NUMBER, 12, NULL, idle_us},
    {"idle_time_pct", "ratio%", HU_CELL_PERCENT, 6, NULL, idle_share},
    {"gaps", "gaps", HU_CELL_COUNT, 7, NULL, idle_gaps},
    {"idle_category", "idle_category", HU_CELL_TEXT, 0, NULL, idle_category},
};

static const hu_table idle_table = {"idle_time_breakdown", "idle_time_breakdown",  "no device work",
                                    idle_columns,          HU_COUNT(idle_columns), idle_rows};

/* kernel types */

static size_t type_rows(const hu_rank *rank)
{
    return rank->digest->hta->n_types;
}

static double type_sum(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;
    double           sum = 0;

    for (size_t i = 0; i < d->hta->n_types; i++)
        sum += d->hta->types[i].sum_us;
    return sum;
}

HU_TEXT_OF(type_name, d->hta->types, hu_str_of(r->type))
HU_NUMBER_OF(type_us, d->hta->types, r->sum_us)
HU_NUMBER_OF(type_pct, d->hta->types, hu_share_pct(r->sum_us, type_sum(rank)))

static const hu_column type_columns[] = {
    {"sum_us", "sum", HU_CELL_NUMBER, 12, NULL, type_us},
    {"percentage", "%", HU_CELL_PERCENT, 6, NULL, type_pct},
    {"kernel_type", "kernel_type", HU_CELL_TEXT, 0, NULL, type_name},
};

static const hu_table type_table = {
    "kernel_type_breakdown", "kernel_type_breakdown", "no device work", type_columns, HU_COUNT(type_columns), type_rows};

/* kernels */

static size_t kernel_rows(const hu_rank *rank)
{
    return rank->digest->hta->n_kernels;
}

HU_TEXT_OF(kernel_name, d->hta->kernels, r->name)
HU_TEXT_OF(kernel_type, d->hta->kernels, hu_str_of(r->type))
HU_NUMBER_OF(kernel_sum, d->hta->kernels, r->sum_us)
HU_NUMBER_OF(kernel_max, d->hta->kernels, r->max_us)
HU_NUMBER_OF(kernel_min, d->hta->kernels, r->min_us)
HU_NUMBER_OF(kernel_mean, d->hta->kernels, r->mean_us)
HU_NUMBER_OF(kernel_std, d->hta->kernels, r->std_us)
HU_NUMBER_OF(kernel_count, d->hta->kernels, r->count)

static const hu_column kernel_columns[] = {
    {"sum_us", "sum", HU_CELL_NUMBER, 10, NULL, kernel_sum},
    {"max_us", "max", HU_CELL_NUMBER, 8, NULL, kernel_max},
    {"min_us", "min", HU_CELL_NUMBER, 8, NULL, kernel_min},
    {"mean_us", "mean", HU_CELL_NUMBER, 8, NULL, kernel_mean},
    {"stddev_us", NULL, HU_CELL_NUMBER, 0, NULL, kernel_std},
    {"count", NULL, HU_CELL_COUNT, 0, NULL, kernel_count},
    {"kernel_type", "kernel_type", HU_CELL_TEXT, 13, NULL, kernel_type},
    {"name", "name", HU_CELL_TEXT, 0, NULL, kernel_name},
};

static const hu_table kernel_table = {"kernels",      "kernel_breakdown, not grouped", "no device work",
                                      kernel_columns, HU_COUNT(kernel_columns),        kernel_rows};

/* queues and copies: what pandas' describe() prints */

#define DESCRIBE(prefix, list, member)                  \
    HU_NUMBER_OF(prefix##_count, list, r->member.count) \
    HU_NUMBER_OF(prefix##_mean, list, r->member.mean)   \
    HU_NUMBER_OF(prefix##_std, list, r->member.std)     \
    HU_NUMBER_OF(prefix##_min, list, r->member.min)     \
    HU_NUMBER_OF(prefix##_q25, list, r->member.q25)     \
    HU_NUMBER_OF(prefix##_q50, list, r->member.q50)     \
    HU_NUMBER_OF(prefix##_q75, list, r->member.q75)     \
    HU_NUMBER_OF(prefix##_max, list, r->member.max)

/* clang-format off */
#define DESCRIBE_COLUMNS(prefix)                                  \
    {"count", "count", HU_CELL_COUNT, 7, NULL, prefix##_count},   \
    {"mean", "mean", HU_CELL_NUMBER, 7, NULL, prefix##_mean},     \
    {"std", "std", HU_CELL_NUMBER, 7, NULL, prefix##_std},        \
    {"min", "min", HU_CELL_NUMBER, 6, NULL, prefix##_min},        \
    {"p25", "25%", HU_CELL_NUMBER, 7, NULL, prefix##_q25, true},  \
    {"p50", "50%", HU_CELL_NUMBER, 7, NULL, prefix##_q50},        \
    {"p75", "75%", HU_CELL_NUMBER, 7, NULL, prefix##_q75, true},  \
    {"max", "max", HU_CELL_NUMBER, 7, NULL, prefix##_max}
/* clang-format on */

static size_t queue_rows(const hu_rank *rank)
{
    return rank->digest->hta->n_queues;
}

HU_NUMBER_OF(queue_stream, d->hta->queues, r->stream)
HU_NUMBER_OF(queue_full, d->hta->queues, r->full_us)
DESCRIBE(queue, d->hta->queues, length)

static const hu_column queue_columns[] = {
    {"stream", "stream", HU_CELL_COUNT, 7, NULL, queue_stream},
    DESCRIBE_COLUMNS(queue),
    {"full_us", "full (us)", HU_CELL_NUMBER, 9, NULL, queue_full},
};

static const hu_table queue_table = {"queue_length_summary", "queue_length_summary",  "no launches",
                                     queue_columns,          HU_COUNT(queue_columns), queue_rows};

static size_t copy_rows(const hu_rank *rank)
{
    return rank->digest->hta->n_copies;
}

HU_TEXT_OF(copy_name, d->hta->copies, hu_str_of(r->name))
DESCRIBE(copy, d->hta->copies, gbps)

static const hu_column copy_columns[] = {
    DESCRIBE_COLUMNS(copy),
    {"name", "memory_bw_gbps of", HU_CELL_TEXT, 0, NULL, copy_name},
};

static const hu_table copy_table = {"memory_bw_summary", "memory_bw_summary",    "no copies",
                                    copy_columns,        HU_COUNT(copy_columns), copy_rows};

static const hu_table *const tables[] = {&idle_table, &type_table, &kernel_table, &queue_table, &copy_table};

/* clang-format off */
const hu_view hu_view_hta = {
    .word = "hta", .key = "hta", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables, .n_tables = HU_COUNT(tables),
    .about = "as HolisticTraceAnalysis prints it, with its rounding and filters",
};
/* clang-format on */
