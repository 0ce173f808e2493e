/* SPDX-License-Identifier: Apache-2.0
 * table_comm.c - collectives of one rank. */
#include "render/cells.h"

static bool on_device(const hu_digest *d)
{
    return !d->comm.on_host;
}

HU_TEXT(name, comm, r->name)
HU_TEXT(group, comm, r->group)
HU_TEXT(dtype, comm, r->dtype)
HU_NUMBER(size, comm, r->group_size > 0 ? (double)r->group_size : HU_ABSENT)
HU_NUMBER(count, comm, r->duration.n)
HU_NUMBER(total, comm, r->duration.sum)
HU_NUMBER(exposed, comm, r->on_host ? HU_ABSENT : (double)r->exposed_ns)
HU_NUMBER(mean, comm, r->duration.mean)
HU_NUMBER(median, comm, r->duration.median)
HU_NUMBER(least, comm, r->duration.min)
HU_NUMBER(most, comm, r->duration.max)
HU_NUMBER(stddev, comm, r->duration.stddev)
HU_NUMBER(bytes, comm, r->bytes >= 0 ? (double)r->bytes : HU_ABSENT)
HU_NUMBER(alg, comm, hu_collective_alg_gbps(r))
HU_NUMBER(bus, comm, hu_collective_bus_gbps(r))
HU_ROWS(rows, comm)

static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total},
    {"exposed_ns", "exposed", HU_CELL_NS, 9, on_device, exposed},
    {"calls", "calls", HU_CELL_COUNT, 5, NULL, count},
    {"mean_ns", "mean", HU_CELL_NS, 8, NULL, mean},
    {"median_ns", NULL, HU_CELL_NS, 0, NULL, median},
    {"min_ns", "least", HU_CELL_NS, 8, NULL, least, true},
    {"max_ns", NULL, HU_CELL_NS, 0, NULL, most},
    {"stddev_ns", NULL, HU_CELL_NS, 0, NULL, stddev},
    {"bytes", "bytes", HU_CELL_BYTES, 8, NULL, bytes},
    {"alg_gbps", NULL, HU_CELL_NUMBER, 0, NULL, alg},
    {"bus_gbps", "busGB/s", HU_CELL_NUMBER, 7, NULL, bus},
    {"group_size", "ranks", HU_CELL_COUNT, 5, NULL, size},
    {"group", "group", HU_CELL_TEXT, 12, NULL, group, true},
    {"dtype", NULL, HU_CELL_TEXT, 0, NULL, dtype},
    {"name", "collective", HU_CELL_TEXT, 0, NULL, name},
};

static const hu_table table = {"collectives", "Collectives by name, group and size", "no collectives were recorded", columns,
                               HU_COUNT(columns), rows};

HU_FACT(calls, d->comm.calls)
HU_FACT(all, d->comm.total_ns)
HU_FACT(overlapped, d->comm.on_host ? HU_ABSENT : (double)d->comm.overlapped_ns)
HU_FACT(overlap_pct, d->comm.on_host ? HU_ABSENT : hu_share_pct((double)d->comm.overlapped_ns, (double)d->comm.total_ns))
HU_FACT(all_exposed, d->comm.on_host ? HU_ABSENT : (double)d->comm.exposed_ns)
HU_FACT(all_bytes, d->comm.bytes)
HU_FACT(on_host, d->comm.on_host)

static const hu_column facts[] = {
    {"calls", "collectives", HU_CELL_COUNT, 0, NULL, calls},
    {"total_ns", "time in which any runs", HU_CELL_NS, 0, NULL, all},
    {"overlapped_ns", "of it while kernels compute", HU_CELL_NS, 0, NULL, overlapped},
    {"overlap_pct", "overlap, %", HU_CELL_PERCENT, 0, NULL, overlap_pct},
    {"exposed_ns", "exposed", HU_CELL_NS, 0, NULL, all_exposed},
    {"bytes", "bytes, of those that say", HU_CELL_BYTES, 0, NULL, all_bytes},
    {"measured_on_host", NULL, HU_CELL_BOOL, 0, NULL, on_host},
};

static const hu_table *const tables[] = {&table};

static bool has(const hu_digest *d)
{
    return d->comm.n > 0;
}

const hu_view hu_view_comm = {
    .word = "comm", .key = "communication", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has, .nothing = "no collectives were recorded",
    .about = "collectives: overlap, exposed time, bandwidth by group and size",
};
