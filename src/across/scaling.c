/* SPDX-License-Identifier: Apache-2.0
 * scaling.c - the laws, and a division of what is lost that adds up.
 *
 * Each rank's mean step is divided into classes without rest; means over ranks add up to the mean step T(N).  A class should
 * cost, on N devices, what it cost on N0 (weak scaling), or N0/N of it (strong scaling).  With E the efficiency,
 *
 *     1 - E = sum over classes of (c(N) - ideal(N)) / T(N)
 *
 * holds exactly, and negative terms are gains (smaller shapes may fit a cache).  Karp and Flatt: e = (1/S - 1/p) / (1 - 1/p)
 * with p = N/N0; flat e over N means serial work, rising e communication or imbalance.  POP's efficiencies, with useful time
 * for computation: load balance = mean / max, transfer = T on an ideal network / T, serialisation = max / T on that network.
 *
 * The next doubling adds to each class what the last one added; the interval spans the least and the largest such step over
 * all doublings, and half to twice of it where there was only one; and a hundredth of a step on either side.
 */
#include "across/scaling.h"

#include <math.h>
#include <stdlib.h>

static const double FLOOR = 0.01; /* of a step: what two equal runs differ by is not told by one of each */

/* Communication that nothing hides is waiting as far as the rank waited in the collectives that were matched. */
static double wait_share(const hu_rendezvous *r, size_t rank, bool *is_known)
{
    const hu_attendance *a = r ? &r->at[rank] : NULL;

    if (!a || a->wait_ns + a->transfer_ns <= 0)
        return 0;
    *is_known = true;
    return (double)a->wait_ns / (double)(a->wait_ns + a->transfer_ns);
}

static hu_loss loss_of_idle(hu_idle_cause cause)
{
    switch (cause) {
    case HU_IDLE_DATA_LOADER:
        return HU_LOSS_DATA;
    case HU_IDLE_COMM:
        return HU_LOSS_TRANSFER;
    case HU_IDLE_UNRECORDED:
    case HU_IDLE_DEVICE:
    case HU_IDLE_UNKNOWN:
        return HU_LOSS_OTHER;
    default:
        return HU_LOSS_HOST;
    }
}

static void divide_device(const hu_digest *d, const hu_step_time *t, double *out)
{
    out[HU_LOSS_COMPUTE] = t->compute_ns;
    out[HU_LOSS_TRANSFER] = t->exposed_comm_ns;
    out[HU_LOSS_COPY] = t->exposed_copy_ns;
    if (d->idle.idle_ns <= 0)
        out[HU_LOSS_OTHER] = t->idle_ns;
    for (hu_idle_cause c = 0; d->idle.idle_ns > 0 && c < HU_IDLE_CAUSE_COUNT; c++)
        out[loss_of_idle(c)] += t->idle_ns * (double)d->idle.by_cause[c] / (double)d->idle.idle_ns;
}

static void divide_host(const hu_step_time *t, double *out)
{
    out[HU_LOSS_COMPUTE] = t->role_ns[HU_ROLE_CPU_EXEC] + t->role_ns[HU_ROLE_RUNTIME];
    out[HU_LOSS_TRANSFER] = t->role_ns[HU_ROLE_COMMUNICATION];
    out[HU_LOSS_DATA] = t->role_ns[HU_ROLE_DATA_LOADER];
    out[HU_LOSS_OTHER] = t->role_ns[HU_ROLE_OTHER];
}

bool hu_scaling_run_measure(hu_digest *const *digests, size_t n, const hu_rendezvous *r, hu_scaling_run *out)
{
    hu_scaling_run run = {0};

    for (size_t i = 0; i < n; i++) {
        const hu_step_time *t = hu_digest_step_time(digests[i]);
        double              classes[HU_LOSS_COUNT] = {0}, share;
        size_t              k = 0;

        run.gpus = digests[i]->info.world_size > run.gpus ? digests[i]->info.world_size : run.gpus;
        while (k < i && !hu_str_equal(digests[k]->info.host, digests[i]->info.host))
            k++;
        run.nodes += k == i;
        run.has_device |= digests[i]->breakdown.has_device;
        if (!t || !(t->step_ns > 0))
            continue;
        if (digests[i]->breakdown.has_device)
            divide_device(digests[i], t, classes);
        else
            divide_host(t, classes);
        share = wait_share(r, i, &run.has_waits);
        classes[HU_LOSS_WAIT] = share * classes[HU_LOSS_TRANSFER];
        classes[HU_LOSS_TRANSFER] -= classes[HU_LOSS_WAIT];
        for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
            run.class_ns[c] += classes[c];
        run.compute_most_ns = fmax(run.compute_most_ns, classes[HU_LOSS_COMPUTE]);
        run.ranks++;
    }
    for (hu_loss c = 0; run.ranks && c < HU_LOSS_COUNT; c++) {
        run.class_ns[c] /= (double)run.ranks;
        run.step_ns += run.class_ns[c];
    }
    run.gpus = run.gpus > (int64_t)n ? run.gpus : (int64_t)n;
    *out = run;
    return run.ranks > 0;
}

static int by_gpus(const void *left, const void *right)
{
    const hu_scaling_run *a = left, *b = right;

    if (a->gpus != b->gpus)
        return a->gpus < b->gpus ? -1 : 1;
    return (a->step_ns > b->step_ns) - (a->step_ns < b->step_ns);
}

/* Does the largest run compute per step about as much as the smallest, or about as much less as it has more devices? */
static hu_scaling_mode guess(const hu_scaling *s)
{
    const hu_scaling_run *first = &s->run[0], *last = &s->run[s->n - 1];
    const double          p = (double)last->gpus / (double)first->gpus;
    const double          ratio = last->class_ns[HU_LOSS_COMPUTE] / first->class_ns[HU_LOSS_COMPUTE];

    return p > 1 && ratio > 0 && fabs(log(ratio * p)) < fabs(log(ratio)) ? HU_SCALING_STRONG : HU_SCALING_WEAK;
}

/* What a class of run `from` should cost on `gpus` devices. */
static double ideal(const hu_scaling *s, const hu_scaling_run *from, double gpus, hu_loss c)
{
    return from->class_ns[c] * (s->mode == HU_SCALING_STRONG ? (double)from->gpus / gpus : 1);
}

static double speedup_of(const hu_scaling *s, double gpus, double step_ns)
{
    const double p = gpus / (double)s->run[0].gpus;

    return s->run[0].step_ns / step_ns * (s->mode == HU_SCALING_STRONG ? 1 : p);
}

static void compare(hu_scaling *s, size_t i)
{
    const hu_scaling_run *run = &s->run[i];
    const double          p = (double)run->gpus / (double)s->run[0].gpus, step = run->step_ns;
    const double          mean = run->class_ns[HU_LOSS_COMPUTE], most = run->compute_most_ns;
    const double          free = isnan(run->ideal_ns) ? step - run->class_ns[HU_LOSS_TRANSFER] : run->ideal_ns;
    hu_scaling_row       *row = &s->row[i];

    row->speedup = speedup_of(s, (double)run->gpus, step);
    row->efficiency_pct = 100 * row->speedup / p;
    row->karp_flatt = p > 1 ? (1 / row->speedup - 1 / p) / (1 - 1 / p) : (double)NAN;
    for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
        row->loss_pct[c] = 100 * (run->class_ns[c] - ideal(s, &s->run[0], (double)run->gpus, c)) / step;
    row->load_balance_pct = most > 0 ? 100 * mean / most : (double)NAN;
    row->transfer_pct = 100 * free / step;
    row->serialisation_pct = 100 * most / free;
}

/* How much longer a step of run i is than that of the run before, beyond what it should be, for one doubling. */
static double growth(const hu_scaling *s, size_t i)
{
    const double doublings = log2((double)s->run[i].gpus / (double)s->run[i - 1].gpus);
    double       more = 0;

    for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
        more += s->run[i].class_ns[c] - ideal(s, &s->run[i - 1], (double)s->run[i].gpus, c);
    return doublings > 0 ? more / doublings : (double)NAN;
}

static void predict(hu_scaling *s)
{
    const hu_scaling_run *last = &s->run[s->n - 1];
    const double          gpus = 2 * (double)last->gpus;
    double                base = 0, more = (double)NAN, least = INFINITY, most = -INFINITY;
    size_t                n = 0;

    s->next_speedup = s->next_low = s->next_high = (double)NAN;
    for (size_t i = 1; i < s->n; i++) {
        const double g = growth(s, i);

        if (isnan(g))
            continue;
        more = g;
        least = fmin(least, g);
        most = fmax(most, g);
        n++;
    }
    if (n == 0)
        return;
    if (n == 1) {
        least = fmin(more / 2, more * 2);
        most = fmax(more / 2, more * 2);
    }
    for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
        base += ideal(s, last, gpus, c);
    least -= FLOOR * last->step_ns;
    most += FLOOR * last->step_ns;
    s->next_speedup = speedup_of(s, gpus, fmax(base + more, base / 2));
    s->next_low = speedup_of(s, gpus, fmax(base + most, base / 2));
    s->next_high = speedup_of(s, gpus, fmax(base + least, base / 2));
}

void hu_scaling_measure(hu_scaling *s, hu_scaling_mode mode)
{
    qsort(s->run, s->n, sizeof *s->run, by_gpus);
    s->mode_is_guessed = mode == HU_SCALING_AUTO;
    s->mode = s->mode_is_guessed ? guess(s) : mode;
    for (size_t i = 0; i < s->n; i++)
        compare(s, i);
    predict(s);
}

const char *hu_loss_key(hu_loss loss)
{
    static const char *const keys[] = {
#define L(id, key, words) (key),
        HU_LOSSES(L)
#undef L
    };

    return keys[loss];
}

const char *hu_loss_words(hu_loss loss)
{
    static const char *const words[] = {
#define L(id, key, text) (text),
        HU_LOSSES(L)
#undef L
    };

    return words[loss];
}
