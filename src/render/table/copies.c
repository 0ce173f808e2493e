/* SPDX-License-Identifier: Apache-2.0
 * copies.c - memory copies by direction and memory kind, and their bandwidth over time. */
#include "render/table/cells.h"

HU_TEXT(name, copies, r->name)
HU_TEXT(direction, copies, r->direction)
HU_TEXT(from, copies, r->from)
HU_TEXT(to, copies, r->to)
HU_NUMBER(pageable, copies, r->is_pageable)
HU_NUMBER(calls, copies, r->calls)
HU_NUMBER(blocking, copies, r->blocking)
HU_NUMBER(total, copies, r->total_ns)
HU_NUMBER(exposed, copies, r->exposed_ns)
HU_NUMBER(mean, copies, hu_mean((double)r->total_ns, (double)r->calls))
HU_NUMBER(least, copies, r->min_ns)
HU_NUMBER(most, copies, r->max_ns)
HU_NUMBER(bytes, copies, r->has_bytes ? (double)r->bytes : HU_ABSENT)
HU_NUMBER(gbps, copies, hu_copy_gbps(r))
HU_ROWS(rows, copies)

static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total},
    {"exposed_ns", "exposed", HU_CELL_NS, 9, NULL, exposed},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, calls},
    {"blocking_calls", "wait", HU_CELL_COUNT, 5, NULL, blocking},
    {"mean_ns", "mean", HU_CELL_NS, 9, NULL, mean, true},
    {"min_ns", NULL, HU_CELL_NS, 0, NULL, least},
    {"max_ns", NULL, HU_CELL_NS, 0, NULL, most},
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, bytes},
    {"gbps", "GB/s", HU_CELL_NUMBER, 6, NULL, gbps},
    {"direction", NULL, HU_CELL_TEXT, 0, NULL, direction},
    {"from", NULL, HU_CELL_TEXT, 0, NULL, from},
    {"to", NULL, HU_CELL_TEXT, 0, NULL, to},
    {"is_pageable", NULL, HU_CELL_BOOL, 0, NULL, pageable},
    {"name", "name", HU_CELL_TEXT, 0, NULL, name},
};

const hu_table hu_table_copies = {"copies", "Copies", "no memory copies were recorded", columns, HU_COUNT(columns), rows};

static const hu_table *const tables[] = {&hu_table_copies};

/* clang-format off */
const hu_view hu_view_copies = {
    .word = "copies", .key = "copies", .is_list = true, .tables = tables, .n_tables = HU_COUNT(tables),
    .about = "copies and memsets: GB/s, pageable, blocking, exposed",
};
/* clang-format on */

/* over time */

static size_t points(const hu_rank *rank)
{
    return rank->digest->copies.gbps[0].piece_ns ? HU_SERIES_POINTS : 0;
}

static double gbps_at(const hu_rank *rank, hu_copy_direction direction, size_t row)
{
    return hu_series_mean(&rank->digest->copies.gbps[direction], (int)row);
}

#define SERIES d->copies.gbps[0].at

HU_MOMENT(start, SERIES, d->copies.gbps[0].start_ns + (int64_t)row * d->copies.gbps[0].piece_ns)
HU_NUMBER_OF(htod, SERIES, gbps_at(rank, HU_COPY_HTOD, row))
HU_NUMBER_OF(dtoh, SERIES, gbps_at(rank, HU_COPY_DTOH, row))
HU_NUMBER_OF(dtod, SERIES, gbps_at(rank, HU_COPY_DTOD, row))
HU_NUMBER_OF(set, SERIES, gbps_at(rank, HU_COPY_SET, row))

static const hu_column series_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, start},
    {"htod_gbps", "host to device, GB/s", HU_CELL_NUMBER, 9, NULL, htod},
    {"dtoh_gbps", "device to host, GB/s", HU_CELL_NUMBER, 9, NULL, dtoh},
    {"dtod_gbps", "on the device, GB/s", HU_CELL_NUMBER, 9, NULL, dtod},
    {"set_gbps", "sets, GB/s", HU_CELL_NUMBER, 9, NULL, set},
};

static const hu_table series = {
    "series", "Mean bandwidth over time", "no memory copies were recorded", series_columns, HU_COUNT(series_columns), points,
    true};

HU_FACT(all_exposed, d->copies.exposed_ns)
HU_FACT(piece, d->copies.gbps[0].piece_ns)

static const hu_column facts[] = {
    {"exposed_ns", "exposed copies and memsets", HU_CELL_NS, 0, NULL, all_exposed},
    {"piece_ns", "length of a time window", HU_CELL_NS, 0, NULL, piece},
};

static const hu_table *const series_tables[] = {&series};

/* clang-format off */
const hu_view hu_view_bandwidth = {
    .word = "bandwidth", .key = "copy_bandwidth", .facts = facts, .n_facts = HU_COUNT(facts), .tables = series_tables,
    .n_tables = HU_COUNT(series_tables), .nothing = "no memory copies were recorded",
    .about = "bandwidth of copies over time, by direction",
};
/* clang-format on */
