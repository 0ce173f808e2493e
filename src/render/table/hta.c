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

/* clang-format off */
static const hu_column facts[] = {
    {"rows", "rows that HTA keeps", HU_CELL_COUNT, 0, NULL, rows_kept,
     .help = "Rows of the trace that HTA keeps."},
    {"gpu_rows", "of them GPU operations, as HTA sees it", HU_CELL_COUNT, 0, NULL, gpu_rows,
     .help = "Rows that HTA takes for GPU operations."},
    {"kernel_time_us", "kernel_time(us)", HU_CELL_NUMBER, 0, NULL, kernel_time, .unit = "µs",
     .source = "HTA: kernel_time(us)",
     .help = "Time from the first start to the last end of GPU operations."},
    {"idle_time_us", "idle_time(us)", HU_CELL_NUMBER, 0, NULL, idle_time, .unit = "µs", .source = "HTA: idle_time(us)",
     .help = "Time in which no GPU operation runs."},
    {"idle_time_pct", "idle_time_pctg", HU_CELL_PERCENT, 0, NULL, idle_pct, .source = "HTA: idle_time_pctg",
     .help = "idle_time_us as a share of kernel_time_us."},
    {"compute_time_us", "compute_time(us)", HU_CELL_NUMBER, 0, NULL, compute_time, .unit = "µs",
     .source = "HTA: compute_time(us)",
     .help = "Time in which a compute kernel runs."},
    {"compute_time_pct", "compute_time_pctg", HU_CELL_PERCENT, 0, NULL, compute_pct, .source = "HTA: compute_time_pctg",
     .help = "compute_time_us as a share of kernel_time_us."},
    {"non_compute_time_us", "non_compute_time(us)", HU_CELL_NUMBER, 0, NULL, non_compute_time, .unit = "µs",
     .source = "HTA: non_compute_time(us)",
     .help = "Time in which only communication or memory work runs."},
    {"non_compute_time_pct", "non_compute_time_pctg", HU_CELL_PERCENT, 0, NULL, non_compute_pct,
     .source = "HTA: non_compute_time_pctg",
     .help = "non_compute_time_us as a share of kernel_time_us."},
    {"comp_comm_overlap_pct", "comp_comm_overlap_pctg", HU_CELL_PERCENT, 0, NULL, overlap_pct,
     .source = "HTA: comp_comm_overlap_pctg",
     .help = "Share of communication time that overlaps with compute; null without communication."},
    {"launches", "launches with their work", HU_CELL_COUNT, 0, NULL, launches,
     .help = "Rows of HTA's launch statistics, memory events included."},
    {"short_kernels", "gpu_duration < cpu_duration", HU_CELL_COUNT, 0, NULL, short_kernels,
     .source = "HTA: get_cuda_kernel_launch_stats",
     .help = "Launches whose gpu_duration is below their cpu_duration."},
    {"runtime_outliers", "cpu_duration > 50 us", HU_CELL_COUNT, 0, NULL, runtime_outliers,
     .source = "HTA: runtime_cutoff",
     .help = "Launches whose cpu_duration is above 50 us."},
    {"launch_delay_outliers", "launch_delay > 100 us", HU_CELL_COUNT, 0, NULL, delay_outliers,
     .source = "HTA: launch_delay_cutoff",
     .help = "Launches whose launch_delay is above 100 us."},
    {"cpu_duration_sum_us", NULL, HU_CELL_NUMBER, 0, NULL, cpu_sum, .unit = "µs",
     .help = "Sum of cpu_duration over all launches."},
    {"gpu_duration_sum_us", NULL, HU_CELL_NUMBER, 0, NULL, gpu_sum, .unit = "µs",
     .help = "Sum of gpu_duration over all launches."},
    {"launch_delay_sum_us", NULL, HU_CELL_NUMBER, 0, NULL, delay_sum, .unit = "µs",
     .help = "Sum of launch_delay over all launches."},
    {"is_rounded", NULL, HU_CELL_BOOL, 0, NULL, is_rounded,
     .help = "Whether HTA rounds this file to whole microseconds."},
    {"sync_rows", "defect: sync records taken for GPU operations", HU_CELL_COUNT, 0, NULL, sync_rows,
     .help = "Sync records that HTA takes for GPU operations."},
    {"operator_rows", "defect: operators taken for GPU operations", HU_CELL_COUNT, 0, NULL, operator_rows,
     .help = "Operators that HTA takes for GPU operations."},
    {"dropped_rows", "defect: rows dropped", HU_CELL_COUNT, 0, NULL, dropped_rows,
     .help = "Rows that HTA drops: after the start of the last step, or GPU operations without a kept launch."},
    {"negative_rows", "defect: durations below 0 after rounding", HU_CELL_COUNT, 0, NULL, negative_rows,
     .help = "Durations below 0 after HTA's rounding."},
};
/* clang-format on */

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

/* clang-format off */
static const hu_column idle_columns[] = {
    {"stream", "stream", HU_CELL_COUNT, 7, NULL, idle_stream,
     .help = "Stream number."},
    {"idle_time_us", "idle_time", HU_CELL_NUMBER, 12, NULL, idle_us, .unit = "µs", .source = "HTA: idle_time",
     .help = "Idle time of the stream in this category."},
    {"idle_time_pct", "ratio%", HU_CELL_PERCENT, 6, NULL, idle_share, .source = "HTA: idle_time_ratio",
     .help = "idle_time_us as a share of the stream's idle time."},
    {"gaps", "gaps", HU_CELL_COUNT, 7, NULL, idle_gaps,
     .help = "Number of gaps in this category."},
    {"idle_category", "idle_category", HU_CELL_TEXT, 0, NULL, idle_category, .source = "HTA: idle_category",
     .help = "host_wait, kernel_wait or other."},
};

static const hu_table idle_table = {
    .key = "idle_time_breakdown", .title = "idle_time_breakdown",
    .columns = idle_columns, .n_columns = HU_COUNT(idle_columns), .rows = idle_rows,
    .empty = "no GPU operations",
    .about = "HTA's idle time by stream and category, three rows for each stream.",
};
/* clang-format on */

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

/* clang-format off */
static const hu_column type_columns[] = {
    {"sum_us", "sum", HU_CELL_NUMBER, 12, NULL, type_us, .unit = "µs", .source = "HTA: sum",
     .help = "Time of this kernel type."},
    {"percentage", "%", HU_CELL_PERCENT, 6, NULL, type_pct, .source = "HTA: percentage",
     .help = "sum_us as a share of all rows."},
    {"kernel_type", "kernel_type", HU_CELL_TEXT, 0, NULL, type_name, .source = "HTA: kernel_type",
     .help = "Kernel type, or the types that overlap."},
};

static const hu_table type_table = {
    .key = "kernel_type_breakdown", .title = "kernel_type_breakdown",
    .columns = type_columns, .n_columns = HU_COUNT(type_columns), .rows = type_rows,
    .empty = "no GPU operations",
    .about = "HTA's device time by kernel type and combination of types.",
};
/* clang-format on */

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

/* clang-format off */
static const hu_column kernel_columns[] = {
    {"sum_us", "sum", HU_CELL_NUMBER, 10, NULL, kernel_sum, .unit = "µs",
     .help = "Sum of durations of the kernel."},
    {"max_us", "max", HU_CELL_NUMBER, 8, NULL, kernel_max, .unit = "µs",
     .help = "Longest duration."},
    {"min_us", "min", HU_CELL_NUMBER, 8, NULL, kernel_min, .unit = "µs",
     .help = "Shortest duration."},
    {"mean_us", "mean", HU_CELL_NUMBER, 8, NULL, kernel_mean, .unit = "µs",
     .help = "Mean duration."},
    {"stddev_us", NULL, HU_CELL_NUMBER, 0, NULL, kernel_std, .unit = "µs",
     .help = "Sample standard deviation of the duration."},
    {"count", NULL, HU_CELL_COUNT, 0, NULL, kernel_count,
     .help = "Number of rows of this kernel."},
    {"kernel_type", "kernel_type", HU_CELL_TEXT, 13, NULL, kernel_type, .source = "HTA: kernel_type",
     .help = "COMPUTATION, COMMUNICATION or MEMORY."},
    {"name", "name", HU_CELL_TEXT, 0, NULL, kernel_name,
     .help = "Name of the kernel."},
};

static const hu_table kernel_table = {
    .key = "kernels", .title = "kernel_breakdown, not grouped",
    .columns = kernel_columns, .n_columns = HU_COUNT(kernel_columns), .rows = kernel_rows,
    .empty = "no GPU operations",
    .about = "HTA's kernels by name.",
};
/* clang-format on */

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
#define DESCRIBE_COLUMNS(prefix, what, in)                                             \
    {"count", "count", HU_CELL_COUNT, 7, NULL, prefix##_count,                         \
     .help = "Number of values of the " what "."},                                     \
    {"mean", "mean", HU_CELL_NUMBER, 7, NULL, prefix##_mean, .unit = in,               \
     .help = "Mean " what "."},                                                        \
    {"std", "std", HU_CELL_NUMBER, 7, NULL, prefix##_std, .unit = in,                  \
     .help = "Standard deviation of the " what "."},                                   \
    {"min", "min", HU_CELL_NUMBER, 6, NULL, prefix##_min, .unit = in,                  \
     .help = "Least " what "."},                                                       \
    {"p25", "25%", HU_CELL_NUMBER, 7, NULL, prefix##_q25, .is_wide = true, .unit = in, \
     .help = "First quartile of the " what "."},                                       \
    {"p50", "50%", HU_CELL_NUMBER, 7, NULL, prefix##_q50, .unit = in,                  \
     .help = "Median " what "."},                                                      \
    {"p75", "75%", HU_CELL_NUMBER, 7, NULL, prefix##_q75, .is_wide = true, .unit = in, \
     .help = "Third quartile of the " what "."},                                       \
    {"max", "max", HU_CELL_NUMBER, 7, NULL, prefix##_max, .unit = in,                  \
     .help = "Largest " what "."}
/* clang-format on */

static size_t queue_rows(const hu_rank *rank)
{
    return rank->digest->hta->n_queues;
}

HU_NUMBER_OF(queue_stream, d->hta->queues, r->stream)
HU_NUMBER_OF(queue_full, d->hta->queues, r->full_us)
DESCRIBE(queue, d->hta->queues, length)

/* clang-format off */
static const hu_column queue_columns[] = {
    {"stream", "stream", HU_CELL_COUNT, 7, NULL, queue_stream,
     .help = "Stream number."},
    DESCRIBE_COLUMNS(queue, "queue length", "operations"),
    {"full_us", "full us", HU_CELL_NUMBER, 9, NULL, queue_full, .unit = "µs",
     .source = "HTA: get_time_spent_blocked_on_full_queue",
     .help = "Time with 1024 or more operations in the queue."},
};

static const hu_table queue_table = {
    .key = "queue_length_summary", .title = "queue_length_summary",
    .columns = queue_columns, .n_columns = HU_COUNT(queue_columns), .rows = queue_rows,
    .empty = "no launches",
    .about = "HTA's queue length of each stream, as pandas' describe() prints it.",
};
/* clang-format on */

static size_t copy_rows(const hu_rank *rank)
{
    return rank->digest->hta->n_copies;
}

HU_TEXT_OF(copy_name, d->hta->copies, hu_str_of(r->name))
DESCRIBE(copy, d->hta->copies, gbps)

/* clang-format off */
static const hu_column copy_columns[] = {
    DESCRIBE_COLUMNS(copy, "memory bandwidth", "GB/s"),
    {"name", "memory_bw_gbps of", HU_CELL_TEXT, 0, NULL, copy_name,
     .help = "Kind of copy."},
};

static const hu_table copy_table = {
    .key = "memory_bw_summary", .title = "memory_bw_summary",
    .columns = copy_columns, .n_columns = HU_COUNT(copy_columns), .rows = copy_rows,
    .empty = "no copies",
    .about = "HTA's memory bandwidth by kind of copy, as pandas' describe() prints it.",
};
/* clang-format on */

static const hu_table *const tables[] = {&idle_table, &type_table, &kernel_table, &queue_table, &copy_table};

/* clang-format off */
const hu_view hu_view_hta = {
    .word = "hta", .key = "hta", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables, .n_tables = HU_COUNT(tables),
    .about = "as HolisticTraceAnalysis prints it, with its rounding and filters",
};
/* clang-format on */
