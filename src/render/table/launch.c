/* SPDX-License-Identifier: Apache-2.0
 * launch.c - launches: cost by kernel, queues, outliers, the queue over time. */
#include "render/table/cells.h"

HU_TEXT(name, launches, r->name)
HU_NUMBER(count, launches, r->launches)
HU_NUMBER(call_mean, launches, hu_mean((double)r->call_ns, (double)r->launches))
HU_NUMBER(call_total, launches, r->call_ns)
HU_NUMBER(delay_mean, launches, hu_mean((double)r->delay_ns, (double)r->launches))
HU_NUMBER(delay_most, launches, r->most_delay_ns)
HU_NUMBER(work_mean, launches, hu_mean((double)r->work_ns, (double)r->launches))
HU_NUMBER(shorter, launches, r->shorter)
HU_NUMBER(shorter_pct, launches, hu_share_pct((double)r->shorter, (double)r->launches))
HU_ROWS(rows, launches)

/* clang-format off */
static const hu_column columns[] = {
    {"call_total_ns", "calls", HU_CELL_NS, 9, NULL, call_total,
     .help = "Sum of the durations of the launching calls."},
    {"launches", "count", HU_CELL_COUNT, 6, NULL, count,
     .help = "Number of launches."},
    {"call_mean_ns", "call", HU_CELL_NS, 8, NULL, call_mean,
     .help = "Mean duration of the launching call."},
    {"delay_mean_ns", "delay", HU_CELL_NS, 8, NULL, delay_mean,
     .help = "Mean delay from the end of the call to the start of its operation, 0 when it started before."},
    {"delay_max_ns", NULL, HU_CELL_NS, 0, NULL, delay_most,
     .help = "Longest delay."},
    {"work_mean_ns", "work", HU_CELL_NS, 8, NULL, work_mean,
     .help = "Mean duration of the launched operation."},
    {"shorter", NULL, HU_CELL_COUNT, 0, NULL, shorter, .source = "HTA: get_cuda_kernel_launch_stats",
     .help = "Operations that took less time than the call that launched them."},
    {"shorter_pct", "short%", HU_CELL_PERCENT, 6, NULL, shorter_pct,
     .help = "shorter as a share of the launches."},
    {"name", "launched", HU_CELL_TEXT, 0, NULL, name,
     .help = "Name of the launched GPU operation."},
};

static const hu_table work_table = {
    .key = "work", .title = "Launches by what they launch, means",
    .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no launches were recorded",
    .about = "Launching calls, grouped by the GPU operation that they launch.",
};
/* clang-format on */

/* queues */

#define QUEUE d->launches.queues

static size_t queue_rows(const hu_rank *rank)
{
    return rank->digest->launches.n_queues;
}

HU_NUMBER_OF(queue_device, QUEUE, r->device >= 0 ? (double)r->device : HU_ABSENT)
HU_NUMBER_OF(queue_stream, QUEUE, r->stream >= 0 ? (double)r->stream : HU_ABSENT)
HU_NUMBER_OF(queue_launches, QUEUE, r->launches)
HU_NUMBER_OF(queue_mean, QUEUE, r->mean)
HU_NUMBER_OF(queue_most, QUEUE, r->most)
HU_NUMBER_OF(queue_full, QUEUE, r->full_ns)

/* clang-format off */
static const hu_column queue_columns[] = {
    {"device", "device", HU_CELL_COUNT, 6, NULL, queue_device,
     .help = "Number of the device; null when unknown."},
    {"stream", "stream", HU_CELL_COUNT, 6, NULL, queue_stream,
     .help = "Number of the stream; null when unknown."},
    {"launches", "launches", HU_CELL_COUNT, 9, NULL, queue_launches,
     .help = "GPU operations launched to the stream."},
    {"mean", "mean", HU_CELL_NUMBER, 8, NULL, queue_mean, .unit = "operations", .source = "HTA: get_queue_length_summary",
     .help = "Mean queue length over time, from the first launch to the last start."},
    {"most", "max", HU_CELL_COUNT, 6, NULL, queue_most,
     .help = "Longest queue."},
    {"full_ns", "full for", HU_CELL_NS, 10, NULL, queue_full, .source = "HTA: get_time_spent_blocked_on_full_queue",
     .help = "Time with 1024 or more operations in the queue, where launches block."},
};

static const hu_table queues = {
    .key = "queues", .title = "Queue: launched and not started, by stream",
    .columns = queue_columns, .n_columns = HU_COUNT(queue_columns), .rows = queue_rows,
    .empty = "no launches were recorded",
    .about = "GPU operations that were launched and had not started, by stream.",
};
/* clang-format on */

/* outliers */

#define OUT d->launches.outliers

static size_t outlier_rows(const hu_rank *rank)
{
    return rank->digest->launches.n_outliers;
}

HU_MOMENT(out_start, OUT, r->start_ns)
HU_NUMBER_OF(out_call, OUT, r->call_ns)
HU_NUMBER_OF(out_delay, OUT, r->delay_ns)
HU_NUMBER_OF(out_work, OUT, r->work_ns)
HU_TEXT_OF(out_name, OUT, r->call)
HU_TEXT_OF(out_op, OUT, r->op)
HU_TEXT_OF(out_launched, OUT, r->work)

/* clang-format off */
static const hu_column outlier_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, out_start,
     .help = "Start of the call, on the clock of the trace."},
    {"call_ns", "call took", HU_CELL_NS, 9, NULL, out_call,
     .help = "Duration of the call."},
    {"delay_ns", "delay", HU_CELL_NS, 9, NULL, out_delay,
     .help = "Delay from the end of the call to the start of its operation."},
    {"work_ns", "work", HU_CELL_NS, 9, NULL, out_work,
     .help = "Duration of the launched operation."},
    {"call", "call", HU_CELL_TEXT, 18, NULL, out_name,
     .help = "Name of the call."},
    {"work", NULL, HU_CELL_TEXT, 0, NULL, out_launched,
     .help = "Name of the launched operation."},
    {"operator", "operator", HU_CELL_TEXT, 0, NULL, out_op,
     .help = "Operator around the call; empty when there is none."},
};

static const hu_table outliers = {
    .key = "outliers", .title = "Longest launching calls, above 50 µs",
    .columns = outlier_columns, .n_columns = HU_COUNT(outlier_columns), .rows = outlier_rows,
    .empty = "no call took longer than 50 µs",
    .about = "Single launching calls that took longer than 50 µs, at most 50.",
};
/* clang-format on */

/* over time */

static size_t points(const hu_rank *rank)
{
    return rank->digest->launches.queue.piece_ns ? HU_SERIES_POINTS : 0;
}

#define POINT d->launches.queue.at

HU_MOMENT(point_start, POINT, d->launches.queue.start_ns + (int64_t)row * d->launches.queue.piece_ns)
HU_NUMBER_OF(point_mean, POINT, hu_series_mean(&d->launches.queue, (int)row))
HU_NUMBER_OF(point_most, POINT, r->most)

/* clang-format off */
static const hu_column point_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, point_start,
     .help = "Start of the slot, on the clock of the trace."},
    {"mean", "mean", HU_CELL_NUMBER, 9, NULL, point_mean, .unit = "operations",
     .source = "HTA: get_queue_length_time_series",
     .help = "Mean queue length in the slot."},
    {"most", "max", HU_CELL_NUMBER, 9, NULL, point_most, .unit = "operations",
     .help = "Longest queue in the slot."},
};

static const hu_table series = {
    .key = "series", .title = "Queue length over time, all streams",
    .columns = point_columns, .n_columns = HU_COUNT(point_columns), .rows = points, .is_series = true,
    .empty = "no launches were recorded",
    .about = "Operations launched and not started, over all streams, in 200 equal slots.",
};
/* clang-format on */

HU_FACT(launches, d->launches.launches)
HU_FACT(call_p50, d->launches.call.median)
HU_FACT(call_p90, d->launches.call.p90)
HU_FACT(delay_p50, d->launches.delay.median)
HU_FACT(delay_p90, d->launches.delay.p90)
HU_FACT(short_count, d->launches.shorter)
HU_FACT(short_pct, hu_share_pct((double)d->launches.shorter, (double)d->launches.launches))
HU_FACT(short_ns, d->launches.shorter_ns)
HU_FACT(long_calls, d->launches.long_calls)
HU_FACT(long_delays, d->launches.long_delays)
HU_FACT(graphs, d->launches.graph_launches)
HU_FACT(graph_work, d->launches.graph_work)
HU_FACT(graph_ns, d->launches.graph_work_ns)
HU_FACT(piece, d->launches.queue.piece_ns)

/* clang-format off */
static const hu_column facts[] = {
    {"launches", "launches of one GPU operation", HU_CELL_COUNT, 0, NULL, launches,
     .help = "Calls that launch one GPU operation each; graph launches count apart."},
    {"call_median_ns", "call, median", HU_CELL_NS, 0, NULL, call_p50,
     .help = "Median duration of a launching call; null when ranks were merged."},
    {"call_p90_ns", "call, 90th percentile", HU_CELL_NS, 0, NULL, call_p90,
     .help = "90th percentile of the duration of a launching call; null when ranks were merged."},
    {"delay_median_ns", "delay from call to start, median", HU_CELL_NS, 0, NULL, delay_p50,
     .help = "Median delay from the end of the call to the start of its operation, 0 when it started before; null when "
             "ranks were merged."},
    {"delay_p90_ns", "delay, 90th percentile", HU_CELL_NS, 0, NULL, delay_p90,
     .help = "90th percentile of that delay; null when ranks were merged."},
    {"shorter", "operations shorter than their launch call", HU_CELL_COUNT, 0, NULL, short_count,
     .source = "HTA: get_cuda_kernel_launch_stats",
     .help = "Operations that took less time than the call that launched them."},
    {"shorter_pct", "of all launches, %", HU_CELL_PERCENT, 0, NULL, short_pct,
     .help = "shorter as a share of the launches."},
    {"shorter_work_ns", NULL, HU_CELL_NS, 0, NULL, short_ns,
     .help = "Sum of the durations of these operations."},
    {"long_calls", "calls above 50 µs", HU_CELL_COUNT, 0, NULL, long_calls, .source = "HTA: runtime_cutoff",
     .help = "Launching calls above 50 µs."},
    {"long_delays", "delays above 100 µs", HU_CELL_COUNT, 0, NULL, long_delays, .source = "HTA: launch_delay_cutoff",
     .help = "Delays above 100 µs."},
    {"graph_launches", "graph launches", HU_CELL_COUNT, 0, NULL, graphs,
     .help = "Calls that launch several GPU operations at once (CUDA graphs)."},
    {"graph_work", "GPU operations launched by graphs", HU_CELL_COUNT, 0, NULL, graph_work,
     .help = "GPU operations that graph_launches launched."},
    {"graph_work_ns", "their time", HU_CELL_NS, 0, NULL, graph_ns,
     .help = "Sum of the durations of graph_work."},
    {"piece_ns", NULL, HU_CELL_NS, 0, NULL, piece,
     .help = "Length of one slot of the series; 0 when there is none."},
};
/* clang-format on */

static const hu_table *const tables[] = {&work_table, &queues, &outliers, &series};

static bool has(const hu_rank *rank)
{
    return rank->digest->launches.launches + rank->digest->launches.graph_work > 0;
}

/* clang-format off */
const hu_view hu_view_launch = {
    .word = "launch", .key = "launch", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has, .nothing = "no launch could be linked to a GPU operation",
    .about = "launches: calls, delays, queues, operations shorter than the call",
};
/* clang-format on */
