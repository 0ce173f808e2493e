/* SPDX-License-Identifier: Apache-2.0
 * late_ranks.c - who comes last, from what rendezvous know. */
#include "across/late_ranks.h"

#include <stdlib.h>

static const double LEAST_SHARE_PCT = 5;

static int by_loss(const void *left, const void *right)
{
    const hu_late_rank *a = left, *b = right;

    if (a->lost_step_ns != b->lost_step_ns)
        return a->lost_step_ns > b->lost_step_ns ? -1 : 1;
    return (a->digest > b->digest) - (a->digest < b->digest);
}

/* Is most waiting in messages of the host, as in a program with MPI_Send and MPI_Recv? */
static bool waits_for_messages(const hu_rendezvous *r, hu_digest *const *digests, size_t n)
{
    int64_t collectives = 0;

    for (size_t i = 0; i < n; i++) {
        if (!digests[i]->comm.on_host)
            return false;
        collectives += r->at[i].wait_ns;
    }
    return r->messages.late_sender_ns + r->messages.late_receiver_ns > collectives;
}

/* What others wait for one rank: in collectives, and where most is in messages, in those that it sends or takes late. */
static double caused_ns(const hu_rendezvous *r, hu_digest *const *digests, size_t i, bool by_messages)
{
    const int64_t rank = hu_digest_rank_of(digests, i);
    double        sum = (double)r->at[i].caused_ns;

    for (size_t k = 0; by_messages && k < r->messages.n_paths; k++) {
        const hu_message_path *p = &r->messages.paths[k];

        sum += p->source == rank ? (double)p->late_sender_ns : 0;
        sum += p->target == rank ? (double)p->late_receiver_ns : 0;
    }
    return sum;
}

void hu_late_ranks_measure(const hu_rendezvous *r, hu_digest *const *digests, size_t n, hu_late_ranks *out)
{
    const bool by_messages = waits_for_messages(r, digests, n);
    double     all = 0;

    *out = (hu_late_ranks){.by_messages = by_messages};
    for (size_t i = 0; i < n; i++) {
        const double  steps = digests[i]->steps.n ? (double)digests[i]->steps.n : 1;
        const int64_t own = by_messages ? r->messages.waits[i].late_sender_ns + r->messages.waits[i].late_receiver_ns : 0;

        all += caused_ns(r, digests, i, by_messages) / steps;
        out->wait_step_ns += (double)(r->at[i].wait_ns + own) / steps / (double)n;
    }
    for (size_t i = 0; i < n && all > 0; i++) {
        const double steps = digests[i]->steps.n ? (double)digests[i]->steps.n : 1;
        const double lost = caused_ns(r, digests, i, by_messages) / steps;
        hu_late_rank s = {.digest = i, .last = r->at[i].last, .lost_step_ns = lost, .share_pct = 100 * lost / all};

        if (s.share_pct < LEAST_SHARE_PCT)
            continue;
        if (out->n == HU_LATE_RANKS && by_loss(&out->at[out->n - 1], &s) <= 0)
            continue;
        out->at[out->n < HU_LATE_RANKS ? out->n++ : out->n - 1] = s;
        qsort(out->at, out->n, sizeof *out->at, by_loss);
    }
}
