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

/* clang-format off */
static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total, .values = "0..",
     .help = "Sum of the durations of all copies of this name."},
    {"exposed_ns", "exposed", HU_CELL_NS, 9, NULL, exposed,
     .help = "Time in which such a copy ran and no kernel did."},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, calls, .values = "1..",
     .help = "Number of copies."},
    {"blocking_calls", "block", HU_CELL_COUNT, 5, NULL, blocking,
     .help = "Copies whose call returned only when the copy was done."},
    {"mean_ns", "mean", HU_CELL_NS, 9, NULL, mean, .is_wide = true, .values = "0..",
     .help = "Mean duration of a copy."},
    {"min_ns", NULL, HU_CELL_NS, 0, NULL, least, .values = "0..",
     .help = "Shortest copy."},
    {"max_ns", NULL, HU_CELL_NS, 0, NULL, most, .values = "0..",
     .help = "Longest copy."},
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, bytes,
     .help = "Bytes of all copies that record a size; null when none does."},
    {"gbps", "GB/s", HU_CELL_NUMBER, 6, NULL, gbps, .unit = "GB/s",
     .help = "Bytes over duration, of the copies that record a size; null when none does."},
    {"direction", NULL, HU_CELL_TEXT, 0, NULL, direction, .values = "|HtoD|DtoH|DtoD|PtoP|HtoH|set",
     .help = "From host (H), device (D) or peer (P) to which, or set; empty when the name does not tell."},
    {"from", NULL, HU_CELL_TEXT, 0, NULL, from,
     .help = "Kind of the source memory: Pageable, Pinned, Device ...; empty when unknown."},
    {"to", NULL, HU_CELL_TEXT, 0, NULL, to,
     .help = "Kind of the destination memory; empty when unknown."},
    {"is_pageable", NULL, HU_CELL_BOOL, 0, NULL, pageable,
     .help = "Whether the copy goes through a staging buffer for pageable memory, which blocks the host."},
    {"name", "name", HU_CELL_TEXT, 0, NULL, name,
     .help = "Name of the copy, as recorded."},
};

const hu_table hu_table_copies = {
    .key = "copies", .title = "Copies", .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no memory copies were recorded",
    .about = "Memory copies and memsets, summed by name.",
};
/* clang-format on */

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

/* clang-format off */
static const hu_column series_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, start,
     .help = "Start of the slot, on the clock of the trace."},
    {"htod_gbps", "host to device, GB/s", HU_CELL_NUMBER, 9, NULL, htod, .unit = "GB/s",
     .help = "Mean bandwidth from host to device in the slot."},
    {"dtoh_gbps", "device to host, GB/s", HU_CELL_NUMBER, 9, NULL, dtoh, .unit = "GB/s",
     .help = "Mean bandwidth from device to host in the slot."},
    {"dtod_gbps", "on the device, GB/s", HU_CELL_NUMBER, 9, NULL, dtod, .unit = "GB/s",
     .help = "Mean bandwidth of copies on and between devices in the slot, without copies within the host and of unknown "
             "direction."},
    {"set_gbps", "sets, GB/s", HU_CELL_NUMBER, 9, NULL, set, .unit = "GB/s",
     .help = "Mean bandwidth of memsets in the slot."},
};

static const hu_table series = {
    .key = "series", .title = "Mean bandwidth over time",
    .columns = series_columns, .n_columns = HU_COUNT(series_columns), .rows = points, .is_series = true,
    .empty = "no memory copies were recorded",
    .about = "Bandwidth of copies by direction, in 200 equal slots of the capture.",
};
/* clang-format on */

HU_FACT(all_exposed, d->copies.exposed_ns)
HU_FACT(piece, d->copies.gbps[0].piece_ns)

/* clang-format off */
static const hu_column facts[] = {
    {"exposed_ns", "exposed copies and memsets", HU_CELL_NS, 0, NULL, all_exposed,
     .help = "Time in which copies or memsets ran and no kernel did."},
    {"piece_ns", "length of a time window", HU_CELL_NS, 0, NULL, piece,
     .help = "Length of one slot of the series; 0 when there is none."},
};
/* clang-format on */

static const hu_table *const series_tables[] = {&series};

/* clang-format off */
const hu_view hu_view_bandwidth = {
    .word = "bandwidth", .key = "copy_bandwidth", .facts = facts, .n_facts = HU_COUNT(facts), .tables = series_tables,
    .n_tables = HU_COUNT(series_tables), .nothing = "no memory copies were recorded",
    .about = "bandwidth of copies over time, by direction",
};
/* clang-format on */
