/* SPDX-License-Identifier: Apache-2.0
 * late_ranks.c - who comes last, and why, from what rendezvous and replays know.
 *
 * Why: the critical path of the rank that is waited for is not waiting itself, so what it holds more of than those of the
 * others is what the others wait for.  A difference and no proof: two causes of one rank are not told apart in time.
 */
#include "across/late_ranks.h"

#include <stdlib.h>

static const double LEAST_SHARE_PCT = 5;

static int by_loss(const void *left, const void *right)
{
    const hu_straggler *a = left, *b = right;

    if (a->lost_step_ns != b->lost_step_ns)
        return a->lost_step_ns > b->lost_step_ns ? -1 : 1;
    return (a->digest > b->digest) - (a->digest < b->digest);
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Of one class, over all ranks but one. */
static double median_of_others(hu_digest *const *digests, size_t n, size_t but, hu_class c)
{
    enum { MOST = 256 };
    double       values[MOST];
    const size_t every = n / MOST + 1;
    size_t       k = 0;

    for (size_t i = 0; i < n && k < MOST; i += every)
        if (i != but && digests[i]->findings && digests[i]->findings->is_replayed)
            values[k++] = digests[i]->findings->by_class[c];
    qsort(values, k, sizeof *values, by_value);
    return k ? values[k / 2] : 0;
}

static void find_cause(hu_straggler *s, hu_digest *const *digests, size_t n)
{
    const hu_findings *f = digests[s->digest]->findings;

    s->cause = HU_CLASS_COUNT;
    for (hu_class c = 0; f && f->is_replayed && c < HU_CLASS_COUNT; c++) {
        const double more = f->by_class[c] - median_of_others(digests, n, s->digest, c);

        if (c == HU_CLASS_COMM || c == HU_CLASS_HOST_COMM || more <= s->cause_step_ns)
            continue;
        s->cause = c;
        s->cause_step_ns = more;
    }
    if (s->cause_step_ns < s->lost_step_ns / 10) {
        s->cause = HU_CLASS_COUNT;
        s->cause_step_ns = 0;
    }
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

void hu_stragglers_measure(const hu_rendezvous *r, hu_digest *const *digests, size_t n, hu_stragglers *out)
{
    const bool by_messages = waits_for_messages(r, digests, n);
    double     all = 0;

    *out = (hu_stragglers){.by_messages = by_messages};
    for (size_t i = 0; i < n; i++) {
        const double  steps = digests[i]->steps.n ? (double)digests[i]->steps.n : 1;
        const int64_t own = by_messages ? r->messages.waits[i].late_sender_ns + r->messages.waits[i].late_receiver_ns : 0;

        all += caused_ns(r, digests, i, by_messages) / steps;
        out->wait_step_ns += (double)(r->at[i].wait_ns + own) / steps / (double)n;
    }
    for (size_t i = 0; i < n && all > 0; i++) {
        const double steps = digests[i]->steps.n ? (double)digests[i]->steps.n : 1;
        const double lost = caused_ns(r, digests, i, by_messages) / steps;
        hu_straggler s = {.digest = i, .last = r->at[i].last, .lost_step_ns = lost, .share_pct = 100 * lost / all};

        if (s.share_pct < LEAST_SHARE_PCT)
            continue;
        find_cause(&s, digests, n);
        if (out->n == HU_STRAGGLERS && by_loss(&out->at[out->n - 1], &s) <= 0)
            continue;
        out->at[out->n < HU_STRAGGLERS ? out->n++ : out->n - 1] = s;
        qsort(out->at, out->n, sizeof *out->at, by_loss);
    }
}
