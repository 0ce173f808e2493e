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

/* clang-format off */
static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total,
     .help = "Sum of durations; on one rank each includes the wait for the slowest rank."},
    {"exposed_ns", "exposed", HU_CELL_NS, 9, on_device, exposed,
     .help = "Time of these calls while no kernel computes; null when measured on the host."},
    {"calls", "calls", HU_CELL_COUNT, 5, NULL, count,
     .help = "Number of calls."},
    {"mean_ns", "mean", HU_CELL_NS, 8, NULL, mean,
     .help = "Mean duration of a call."},
    {"median_ns", NULL, HU_CELL_NS, 0, NULL, median,
     .help = "Median duration of a call; null when ranks were merged."},
    {"min_ns", "min", HU_CELL_NS, 8, NULL, least, .is_wide = true,
     .help = "Shortest call, the one closest to pure transfer time."},
    {"max_ns", NULL, HU_CELL_NS, 0, NULL, most,
     .help = "Longest call."},
    {"stddev_ns", NULL, HU_CELL_NS, 0, NULL, stddev,
     .help = "Sample standard deviation of the duration; null for fewer than two calls."},
    {"bytes", "bytes", HU_CELL_BYTES, 8, NULL, bytes, .source = "nccl-tests",
     .help = "Bytes of one call, counted as nccl-tests counts them; null when not recorded."},
    {"alg_gbps", NULL, HU_CELL_NUMBER, 0, NULL, alg, .unit = "GB/s", .source = "nccl-tests: algbw",
     .help = "Algorithm bandwidth: bytes of a call over its mean duration; null without bytes."},
    {"bus_gbps", "busGB/s", HU_CELL_NUMBER, 7, NULL, bus, .unit = "GB/s", .source = "nccl-tests: busbw",
     .help = "Bus bandwidth: algorithm bandwidth times the collective's factor (2(n-1)/n for all-reduce), comparable "
             "over group sizes; null without bytes or group_size."},
    {"group_size", "ranks", HU_CELL_COUNT, 5, NULL, size,
     .help = "Ranks in the process group; null when not recorded."},
    {"bound", "bound", HU_CELL_TEXT, 9, has_fits, bound, .is_wide = true, .values = "|latency|bandwidth",
     .help = "What takes the larger part of the call by the fit of its kind: latency or bandwidth; empty without a fit."},
    {"group", "group", HU_CELL_TEXT, 12, NULL, group, .is_wide = true,
     .help = "Process group; empty when not recorded."},
    {"dtype", NULL, HU_CELL_TEXT, 0, NULL, dtype,
     .help = "Type of the elements; empty when not recorded."},
    {"name", "collective", HU_CELL_TEXT, 0, NULL, name,
     .help = "Collective, or the kernel's name when its arguments were not recorded."},
};

static const hu_table table = {
    .key = "collectives", .title = "Collectives by name, group and size",
    .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no collectives were recorded",
    .about = "Collectives of this rank, summed by name, process group and message size.",
};
/* clang-format on */

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

/* clang-format off */
#define KIND(id, word) "|" word
#define KINDS          &(HU_COMM_KINDS(KIND))[1] /* all of them, divided by | */

static const hu_column fit_columns[] = {
    {"group_size", "ranks", HU_CELL_COUNT, 5, NULL, fit_ranks,
     .help = "Ranks in the process group; null when not recorded."},
    {"from_bytes", "from", HU_CELL_BYTES, 8, NULL, fit_from,
     .help = "Smallest message size that this piece of the line covers."},
    {"to_bytes", "to", HU_CELL_BYTES, 8, NULL, fit_to,
     .help = "Largest message size that this piece of the line covers."},
    {"sizes", "sizes", HU_CELL_COUNT, 5, NULL, fit_sizes, .values = "any",
     .help = "Number of different sizes that the line goes through."},
    {"alpha_ns", "latency", HU_CELL_NS, 9, NULL, fit_alpha,
     .help = "Latency: the time of a call with no bytes; null when these sizes do not tell it."},
    {"beta_gbps", "busGB/s", HU_CELL_NUMBER, 7, NULL, fit_beta, .unit = "GB/s",
     .help = "Bus bandwidth that large calls approach; null when size makes no difference at these sizes."},
    {"half_bytes", "half at", HU_CELL_BYTES, 8, NULL, fit_half,
     .help = "Message size whose bytes take as long as its latency; null when either is unknown."},
    {"error_pct", "error %", HU_CELL_PERCENT, 7, NULL, fit_error,
     .help = "Mean distance of the whole fit from what was measured, as a share of it."},
    {"kind", "collective", HU_CELL_TEXT, 0, NULL, fit_kind, .values = KINDS,
     .help = "What the collective does, whatever its name."},
};

static const hu_table fits = {
    .key = "fits", .title = "Latency and bandwidth by size, waiting for other ranks included",
    .columns = fit_columns, .n_columns = HU_COUNT(fit_columns), .rows = fit_rows,
    .empty = "sizes too close together to separate latency from bandwidth",
    .about = "Line t = alpha + bytes x factor / beta through the shortest calls of each size, by kind and group size; "
             "none where sizes lie less than a factor of 8 apart.",
};
/* clang-format on */

HU_FACT(calls, d->comm.calls)
HU_FACT(all, d->comm.total_ns)
HU_FACT(overlapped, d->comm.on_host ? HU_ABSENT : (double)d->comm.overlapped_ns)
HU_FACT(overlap_pct, d->comm.on_host ? HU_ABSENT : hu_share_pct((double)d->comm.overlapped_ns, (double)d->comm.total_ns))
HU_FACT(all_exposed, d->comm.on_host ? HU_ABSENT : (double)d->comm.exposed_ns)
HU_FACT(all_bytes, d->comm.bytes)
HU_FACT(on_host, d->comm.on_host)

/* clang-format off */
static const hu_column facts[] = {
    {"calls", "collectives", HU_CELL_COUNT, 0, NULL, calls,
     .help = "Collectives that this rank took part in."},
    {"total_ns", "time in collectives", HU_CELL_NS, 0, NULL, all,
     .help = "Time in which at least one collective ran."},
    {"overlapped_ns", "of it hidden by compute", HU_CELL_NS, 0, NULL, overlapped,
     .help = "Time in which a collective and a compute kernel both ran; null when measured on the host."},
    {"overlap_pct", "overlap, %", HU_CELL_PERCENT, 0, NULL, overlap_pct, .source = "HTA: comp_comm_overlap_pctg",
     .help = "overlapped_ns as a share of total_ns; null when measured on the host."},
    {"exposed_ns", "exposed", HU_CELL_NS, 0, NULL, all_exposed,
     .help = "Time in which a collective ran and no kernel computed; null when measured on the host."},
    {"bytes", "bytes of calls that record them", HU_CELL_BYTES, 0, NULL, all_bytes,
     .help = "Bytes of all calls that record a size."},
    {"measured_on_host", NULL, HU_CELL_BOOL, 0, NULL, on_host,
     .help = "Whether the times are the host's because no device took part (gloo, MPI)."},
};
/* clang-format on */

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
