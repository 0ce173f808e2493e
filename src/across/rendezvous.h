/* SPDX-License-Identifier: Apache-2.0
 * rendezvous.h - the same collective on all ranks: who came last, who waited, and how far their clocks are apart. */
#ifndef HU_ACROSS_RENDEZVOUS_H
#define HU_ACROSS_RENDEZVOUS_H

#include "across/clocks.h"
#include "across/messages.h"
#include "across/transfers.h"

/* One rank, over the collectives that all ranks of their group were found in. */
typedef struct {
    int64_t calls;       /* collectives that it has, found elsewhere or not */
    int64_t wait_ns;     /* time in them beyond what the last rank to come needed */
    int64_t transfer_ns; /* the rest of its time in them */
    int64_t last;        /* how often it came last */
    int64_t caused_ns;   /* what the others waited then, on average over them */
} hu_attendance;

/* Two ranks that called different collectives under one number of their group: sooner or later such a job hangs. */
typedef struct {
    size_t        digest[2];
    hu_collective call[2];
    int64_t       sequence;
} hu_mismatch;

/* Collectives of which only the calls are recorded: who called last says nothing of waiting, for GPUs are behind hosts. */
typedef struct {
    int64_t matched;
    int64_t compared; /* of them, by clocks that are known */
    size_t  digest;   /* who called last most often */
    int64_t last;     /* how often it did */
    double  late_ns;  /* behind the middle one of the others then: median */
} hu_called;

typedef struct {
    hu_attendance *at; /* by digest */
    size_t         n;
    int64_t        matched;        /* collectives found on all ranks of their group */
    int64_t        unmatched;      /* calls that lack a partner */
    int64_t        by_order;       /* of the matched ones, by order and ends alone: no group is recorded */
    double         order_ns;       /* how far their ends lie apart: median */
    int64_t        rejected;       /* laid side by side by order, but their ends do not agree */
    double         rejected_ns;    /* how far these lie apart */
    int64_t        mismatched;     /* of the matched ones, of different kinds or sizes */
    hu_mismatch    first_mismatch; /* where there is any; texts borrowed from digests */
    hu_called      called;
    uint32_t     **met; /* met[digest][call of its hu_comm]: number of the collective in which all of */
                        /* the group met and nobody left before all had come, or of the message; HU_NONE */
    uint32_t     n_met;
    hu_clocks    clocks;
    hu_messages  messages;  /* sends and receives, which are no collectives */
    hu_transfers transfers; /* what collectives and messages need without waiting */
} hu_rendezvous;

/*
 * Over the digests of one job, in any order; the result lives in `arena`, is plain, and has zeros where nobody meets.
 * Returns 0 or HU_ENOMEM.
 */
int hu_rendezvous_measure(hu_digest *const *digests, size_t n, hu_arena *arena, hu_arena *scratch, hu_rendezvous *out,
                          hu_error *err);

#endif
