/* SPDX-License-Identifier: Apache-2.0
 * comm.c - collectives of one rank. */
#include "analyze/comm_fit.h"
#include "render/table/cells.h"

static bool on_device(const hu_rank *rank)
{
    return !rank->digest->comm.on_host;
}

static bool has_fits(const hu_rank *rank)
{
    return rank->digest->comm.n_fits > 0;
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
HU_PLAIN_TEXT_OF(bound, d->comm.at, hu_str_of(hu_comm_bound_key(r->bound)))
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
    {"bound", "bound", HU_CELL_TEXT, 9, has_fits, bound, true},
    {"group", "group", HU_CELL_TEXT, 12, NULL, group, true},
    {"dtype", NULL, HU_CELL_TEXT, 0, NULL, dtype},
    {"name", "collective", HU_CELL_TEXT, 0, NULL, name},
};

static const hu_table table = {
    "collectives", "Collectives by name, group and size", "no collectives were recorded", columns, HU_COUNT(columns), rows};

/* fits: a row for each piece */

static size_t fit_rows(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;
    size_t           n = 0;

    for (size_t i = 0; i < d->comm.n_fits; i++)
        n += d->comm.fits[i].fit.n;
    return n;
}

static const hu_comm_fit *fit_at(const hu_rank *rank, size_t row, const hu_fit_piece **piece)
{
    const hu_digest   *d = rank->digest;
    const hu_comm_fit *f = d->comm.fits;

    for (; row >= f->fit.n; f++)
        row -= f->fit.n;
    *piece = &f->fit.at[row];
    return f;
}

#define FIT_NUMBER(name, expression)                                \
    static void name(const hu_rank *rank, size_t row, hu_cell *out) \
    {                                                               \
        const hu_fit_piece *p;                                      \
        const hu_comm_fit  *f = fit_at(rank, row, &p);              \
                                                                    \
        (void)f;                                                    \
        out->number = (expression);                                 \
    }

static void fit_kind(const hu_rank *rank, size_t row, hu_cell *out)
{
    const hu_fit_piece *p;

    out->text = hu_str_of(hu_comm_kind_words(fit_at(rank, row, &p)->kind));
    out->is_plain = true;
}

FIT_NUMBER(fit_ranks, f->group_size > 0 ? (double)f->group_size : HU_ABSENT)
FIT_NUMBER(fit_from, hu_comm_fit_bytes(f, p->from_bytes))
FIT_NUMBER(fit_to, hu_comm_fit_bytes(f, p->to_bytes))
FIT_NUMBER(fit_alpha, p->alpha_ns > 0 ? p->alpha_ns : HU_ABSENT)
FIT_NUMBER(fit_beta, p->ns_per_byte > 0 ? 1 / p->ns_per_byte : HU_ABSENT)
FIT_NUMBER(fit_half, hu_comm_half_bytes(f, p))
FIT_NUMBER(fit_sizes, (double)p->n)
FIT_NUMBER(fit_error, 100 * f->fit.error)

static const hu_column fit_columns[] = {
    {"group_size", "ranks", HU_CELL_COUNT, 5, NULL, fit_ranks},
    {"from_bytes", "from", HU_CELL_BYTES, 8, NULL, fit_from},
    {"to_bytes", "to", HU_CELL_BYTES, 8, NULL, fit_to},
    {"sizes", "sizes", HU_CELL_COUNT, 5, NULL, fit_sizes},
    {"alpha_ns", "latency", HU_CELL_NS, 9, NULL, fit_alpha},
    {"beta_gbps", "busGB/s", HU_CELL_NUMBER, 7, NULL, fit_beta},
    {"half_bytes", "half at", HU_CELL_BYTES, 8, NULL, fit_half},
    {"error_pct", "error %", HU_CELL_PERCENT, 7, NULL, fit_error},
    {"kind", "collective", HU_CELL_TEXT, 0, NULL, fit_kind},
};

static const hu_table fits = {"fits",
                              "Latency and bandwidth by size, waiting for other ranks included",
                              "sizes too close together to separate latency from bandwidth",
                              fit_columns,
                              HU_COUNT(fit_columns),
                              fit_rows};

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

static const hu_table *const tables[] = {&table, &fits};

static bool has(const hu_rank *rank)
{
    return rank->digest->comm.n > 0;
}

/* clang-format off */
const hu_view hu_view_comm = {
    .word = "comm", .key = "communication", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has, .nothing = "no collectives were recorded",
    .about = "collectives: overlap, exposed time, bandwidth by size, latency",
};
/* clang-format on */
