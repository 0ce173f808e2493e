/* SPDX-License-Identifier: Apache-2.0
 * joint_pricers.c - as graph/pricers.c; a price does not depend on what its pricer priced before. */
#include "graph/joint_pricers.h"

#include <math.h>

#include "base/thread.h"

enum { MOST_PRICERS = 4 }; /* each has costs and instants of all ranks: 2 MB of one with 50,000 events */

struct hu_joint_pricers {
    hu_joint_pricer *at[MOST_PRICERS];
    size_t           n;
};

hu_joint_pricers *hu_joint_pricers_new(hu_joint_pricer *first, int threads, hu_arena *arena)
{
    hu_joint_pricers *p = hu_arena_calloc(arena, 1, sizeof *p);

    if (!p)
        return NULL;
    p->at[p->n++] = first;
    while (p->n < MOST_PRICERS && (int)p->n < threads) {
        p->at[p->n] = hu_joint_pricer_fork(first, arena);
        if (!p->at[p->n++])
            return NULL;
    }
    return p;
}

typedef struct {
    hu_joint_pricers *p;
    void (*job)(void *, hu_joint_pricer *, size_t);
    void *context;
} work;

static void price(void *context, size_t worker, size_t i)
{
    const work *w = context;

    w->job(w->context, w->p->at[worker], i);
}

void hu_joint_pricers_each(hu_joint_pricers *p, size_t n, void (*job)(void *context, hu_joint_pricer *pricer, size_t i),
                           void *context)
{
    work w = {.p = p, .job = job, .context = context};

    hu_thread_deal(p->n, n, price, &w);
}

double hu_joint_pricers_step_ns(const hu_joint_pricers *p)
{
    return hu_joint_pricer_step_ns(p->at[0]);
}

static void price_straggler(void *context, hu_joint_pricer *pricer, size_t rank)
{
    double *step_ns = context;

    step_ns[rank] = hu_joint_price_straggler_ns(pricer, rank);
}

size_t hu_joint_pricers_worst(hu_joint_pricers *p, size_t n, double *step_ns)
{
    double least = INFINITY;
    size_t worst = 0;

    hu_joint_pricers_each(p, n, price_straggler, step_ns);
    for (size_t r = 0; r < n; r++)
        if (step_ns[r] < least) {
            least = step_ns[r];
            worst = r;
        }
    return worst;
}
