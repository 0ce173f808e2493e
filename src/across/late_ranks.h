/* SPDX-License-Identifier: Apache-2.0
 * late_ranks.h - the ranks that the others wait for. */
#ifndef HU_ACROSS_LATE_RANKS_H
#define HU_ACROSS_LATE_RANKS_H

#include "across/rendezvous.h"

enum { HU_LATE_RANKS = 8 };

typedef struct {
    size_t  digest;       /* which rank */
    int64_t last;         /* collectives that it came last to */
    double  lost_step_ns; /* what each of the others waits for it in a step, on average */
    double  share_pct;    /* of all such waiting */
} hu_late_rank;

typedef struct {
    hu_late_rank at[HU_LATE_RANKS]; /* who is waited for longest, first */
    size_t       n;
    double       wait_step_ns; /* what a rank waits for others in a step, on average over the ranks */
    bool         by_messages;  /* most waiting is for late senders and receivers, on the host */
} hu_late_ranks;

/* Over `n` ranks; those that cost the others less than a twentieth of all waiting are left out. */
void hu_late_ranks_measure(const hu_rendezvous *r, hu_digest *const *digests, size_t n, hu_late_ranks *out);

#endif
