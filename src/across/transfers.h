/* SPDX-License-Identifier: Apache-2.0
 * transfers.h - what collectives need when nobody waits: over all ranks and repetitions, by size. */
#ifndef HU_ACROSS_TRANSFERS_H
#define HU_ACROSS_TRANSFERS_H

#include "analyze/comm_fit.h"
#include "across/meetings.h"

typedef struct {
    hu_str       name, dtype; /* borrowed from a digest */
    int64_t      median_ns;   /* of the shortest times; `size.least_ns` is their 10th percentile */
    int64_t      total_ns;    /* of the shortest times */
    hu_comm_size size;
} hu_transfer;

typedef struct {
    hu_transfer *at; /* by total, then name, bytes, type, group size, link */
    size_t       n;
    hu_comm_fit *fits;
    size_t       n_fits;
    size_t       n_latency, n_bandwidth; /* calls that the fits say are bound by it */
} hu_transfers;

/* Two ends of a message, or all of a collective, needed so long at best. */
typedef struct {
    const hu_collective *what;
    hu_comm_link         link;
    int64_t              group_size, least_ns;
} hu_transfer_sample;

typedef struct {
    HU_VEC(hu_transfer_sample) at;
} hu_transfer_samples;

/* All that synchronises among what was matched.  False when there is no memory. */
bool hu_transfers_collect(const hu_meetings *m, hu_arena *scratch, hu_transfer_samples *into);

/* Sorts the samples.  False when there is no memory. */
bool hu_transfers_measure(hu_transfer_samples *samples, hu_arena *arena, hu_arena *scratch, hu_transfers *out);

double hu_transfer_alg_gbps(const hu_transfer *t);
double hu_transfer_bus_gbps(const hu_transfer *t);

/* Are the hosts of these two known, and the same? */
hu_comm_link hu_transfers_link(const hu_digest *a, const hu_digest *b);

#endif
