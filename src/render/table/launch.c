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

static const hu_column columns[] = {
    {"call_total_ns", "calls", HU_CELL_NS, 9, NULL, call_total},
    {"launches", "count", HU_CELL_COUNT, 6, NULL, count},
    {"call_mean_ns", "call", HU_CELL_NS, 8, NULL, call_mean},
    {"delay_mean_ns", "delay", HU_CELL_NS, 8, NULL, delay_mean},
    {"delay_max_ns", NULL, HU_CELL_NS, 0, NULL, delay_most},
    {"work_mean_ns", "work", HU_CELL_NS, 8, NULL, work_mean},
    {"shorter", NULL, HU_CELL_COUNT, 0, NULL, shorter},
    {"shorter_pct", "short%", HU_CELL_PERCENT, 6, NULL, shorter_pct},
    {"name", "work launched", HU_CELL_TEXT, 0, NULL, name},
};

static const hu_table work_table = {
    "work", "Launches by what they launch, means", "no launches were recorded", columns, HU_COUNT(columns), rows};

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

static const hu_column queue_columns[] = {
    {"device", "device", HU_CELL_COUNT, 6, NULL, queue_device},
    {"stream", "stream", HU_CELL_COUNT, 6, NULL, queue_stream},
    {"launches", "launches", HU_CELL_COUNT, 9, NULL, queue_launches},
    {"mean", "mean", HU_CELL_NUMBER, 8, NULL, queue_mean},
    {"most", "most", HU_CELL_COUNT, 6, NULL, queue_most},
    {"full_ns", "full for", HU_CELL_NS, 10, NULL, queue_full},
};

static const hu_table queues = {"queues",
                                "Queue: launched and not started, by stream",
                                "no launches were recorded",
                                queue_columns,
                                HU_COUNT(queue_columns),
                                queue_rows};

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

static const hu_column outlier_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, out_start},      {"call_ns", "call took", HU_CELL_NS, 9, NULL, out_call},
    {"delay_ns", "delay", HU_CELL_NS, 9, NULL, out_delay},   {"work_ns", "work", HU_CELL_NS, 9, NULL, out_work},
    {"call", "call", HU_CELL_TEXT, 18, NULL, out_name},      {"work", NULL, HU_CELL_TEXT, 0, NULL, out_launched},
    {"operator", "operator", HU_CELL_TEXT, 0, NULL, out_op},
};

static const hu_table outliers = {"outliers",
                                  "The longest launching calls, above 50 µs",
                                  "no call took longer than 50 µs",
                                  outlier_columns,
                                  HU_COUNT(outlier_columns),
                                  outlier_rows};

/* over time */

static size_t points(const hu_rank *rank)
{
    return rank->digest->launches.queue.piece_ns ? HU_SERIES_POINTS : 0;
}

#define POINT d->launches.queue.at

HU_MOMENT(point_start, POINT, d->launches.queue.start_ns + (int64_t)row * d->launches.queue.piece_ns)
HU_NUMBER_OF(point_mean, POINT, hu_series_mean(&d->launches.queue, (int)row))
HU_NUMBER_OF(point_most, POINT, r->most)

static const hu_column point_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, point_start},
    {"mean", "mean", HU_CELL_NUMBER, 9, NULL, point_mean},
    {"most", "most", HU_CELL_NUMBER, 9, NULL, point_most},
};

static const hu_table series = {"series",
                                "The queue over time, all streams",
                                "no launches were recorded",
                                point_columns,
                                HU_COUNT(point_columns),
                                points,
                                true};

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

static const hu_column facts[] = {
    {"launches", "launches of one GPU operation", HU_CELL_COUNT, 0, NULL, launches},
    {"call_median_ns", "call, median", HU_CELL_NS, 0, NULL, call_p50},
    {"call_p90_ns", "call, 90th percentile", HU_CELL_NS, 0, NULL, call_p90},
    {"delay_median_ns", "delay from call to start, median", HU_CELL_NS, 0, NULL, delay_p50},
    {"delay_p90_ns", "delay, 90th percentile", HU_CELL_NS, 0, NULL, delay_p90},
    {"shorter", "operations shorter than their launch call", HU_CELL_COUNT, 0, NULL, short_count},
    {"shorter_pct", "of all launches, %", HU_CELL_PERCENT, 0, NULL, short_pct},
    {"shorter_work_ns", NULL, HU_CELL_NS, 0, NULL, short_ns},
    {"long_calls", "calls above 50 µs", HU_CELL_COUNT, 0, NULL, long_calls},
    {"long_delays", "delays above 100 µs", HU_CELL_COUNT, 0, NULL, long_delays},
    {"graph_launches", "graph launches", HU_CELL_COUNT, 0, NULL, graphs},
    {"graph_work", "GPU operations launched by graphs", HU_CELL_COUNT, 0, NULL, graph_work},
    {"graph_work_ns", "their time", HU_CELL_NS, 0, NULL, graph_ns},
    {"piece_ns", NULL, HU_CELL_NS, 0, NULL, piece},
};

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
