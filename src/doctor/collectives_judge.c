/* SPDX-License-Identifier: Apache-2.0
 * collectives_judge.c - the odd machine and the odd pair.
 *
 * Links differ for good reasons: two ranks on one socket, two machines under one switch.  So nothing is said about ranks
 * of one machine, nor of fewer than three machines, nor where a quarter of all pairs is slow: then they fall into
 * groups, and none is the odd one.
 */
#include <math.h>
#include <stdlib.h>

#include "doctor/collectives.h"

static const double SLOW_MACHINE = 1.5, SLOW_PAIR = 2, MOST_ODD = 0.25, MOST_QUEUED = 0.05;

enum { LEAST_MACHINES = 3 };

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static bool touches(const hu_pair *p, int rank)
{
    return p->a == rank || p->b == rank;
}

/* Of pairs that do not touch the rank (-1: of all); NaN when fewer than `least` were measured. */
static double median_without(const hu_collectives *c, int rank, double *room, size_t least)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_pairs; i++)
        if (!isnan(c->pairs[i].ns) && !touches(&c->pairs[i], rank))
            room[n++] = c->pairs[i].ns;
    if (n == 0 || n < least)
        return (double)NAN;
    qsort(room, n, sizeof *room, by_value);
    return room[n / 2];
}

/* Is each of its pairs slower than the others' median by so much? */
static bool is_slow_everywhere(const hu_collectives *c, int rank, double median)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_pairs; i++) {
        if (!touches(&c->pairs[i], rank) || isnan(c->pairs[i].ns))
            continue;
        if (c->pairs[i].ns < SLOW_MACHINE * median)
            return false;
        n++;
    }
    return n >= 2;
}

void hu_collectives_judge(hu_collectives *c)
{
    double room[HU_PLACES_MOST * HU_PLACES_MOST], median;
    size_t n_odd = 0;
    int    n_ranks = 0;

    c->odd_rank = -1;
    c->is_judged = c->pairs_are_machines && c->pairs_are_all && c->n_machines >= LEAST_MACHINES;
    for (size_t i = 0; i < c->n_pairs; i++)
        c->pairs[i].is_odd = false;
    if (!c->is_judged)
        return;
    for (size_t i = 0; i < c->n_machines; i++) {
        const int rank = c->machines[i].first;

        median = median_without(c, rank, room, 1);
        if (!isnan(median) && is_slow_everywhere(c, rank, median)) {
            c->odd_rank = rank;
            n_ranks++;
        }
    }
    if (n_ranks > 1) /* two odd ones are no odd one */
        c->odd_rank = -1;
    median = median_without(c, c->odd_rank, room, c->odd_rank < 0 ? LEAST_MACHINES : 1);
    for (size_t i = 0; i < c->n_pairs; i++) {
        hu_pair *p = &c->pairs[i];

        p->is_odd = c->odd_rank >= 0 ? touches(p, c->odd_rank) : p->ns >= SLOW_PAIR * median;
        n_odd += p->is_odd;
    }
    if (c->odd_rank < 0 && (double)n_odd > MOST_ODD * (double)c->n_pairs && n_odd > 1)
        for (size_t i = 0; i < c->n_pairs; i++)
            c->pairs[i].is_odd = false;
}

void hu_collectives_doubt(hu_collectives *c)
{
    double worst = MOST_QUEUED;

    c->disturbed_rank = -1;
    for (int r = 0; r < c->size && c->queued_shares; r++) {
        if ((double)c->queued_shares[r] < worst || isnan(c->queued_shares[r]))
            continue;
        worst = (double)c->queued_shares[r];
        c->disturbed_rank = r;
    }
    if (c->disturbed_rank < 0)
        return;
    c->is_judged = false;
    c->odd_rank = -1;
    for (size_t i = 0; i < c->n_pairs; i++)
        c->pairs[i].is_odd = false;
}
