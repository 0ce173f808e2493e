/* SPDX-License-Identifier: Apache-2.0
 * pricers.c - a thread takes a pricer and draws jobs until none is left.
 *
 * A price does not depend on what its pricer priced before, so it does not matter which one it is.
 */
#include "graph/pricers.h"

#include "base/thread.h"

enum { MOST_PRICERS = 16 };

struct hu_pricers {
    hu_pricer *at[MOST_PRICERS];
    hu_arena  *arenas[MOST_PRICERS]; /* of the copies; the first one's is somebody else's */
    size_t     n;
    hu_arena  *arena;
};

hu_pricers *hu_pricers_new(hu_pricer *first, int threads, size_t most)
{
    hu_arena    *arena = hu_arena_new();
    hu_pricers  *p = arena ? hu_arena_calloc(arena, 1, sizeof *p) : NULL;
    const size_t limit = most < MOST_PRICERS ? most : MOST_PRICERS;

    if (!p) {
        hu_arena_free(arena);
        return NULL;
    }
    p->arena = arena;
    p->at[p->n++] = first;
    while (p->n < limit && (int)p->n < threads) {
        p->arenas[p->n] = hu_arena_new();
        p->at[p->n] = p->arenas[p->n] ? hu_pricer_fork(first, p->arenas[p->n]) : NULL;
        if (!p->at[p->n]) {
            hu_arena_free(p->arenas[p->n]);
            hu_pricers_free(p);
            return NULL;
        }
        p->n++;
    }
    return p;
}

bool hu_pricers_lacked(const hu_pricers *p)
{
    for (size_t k = 1; k < p->n; k++)
        if (hu_arena_lacked(p->arenas[k]))
            return true;
    return false;
}

hu_pricer *hu_pricers_first(const hu_pricers *p)
{
    return p->at[0];
}

typedef struct {
    hu_pricers *p;
    void (*job)(void *, hu_pricer *, size_t);
    void *context;
} work;

static void price(void *context, size_t worker, size_t i)
{
    const work *w = context;

    w->job(w->context, w->p->at[worker], i);
}

void hu_pricers_each(hu_pricers *p, size_t n, void (*job)(void *context, hu_pricer *pricer, size_t i), void *context)
{
    work w = {.p = p, .job = job, .context = context};

    hu_thread_deal(p->n, n, price, &w);
    for (size_t k = 1; k < p->n; k++)
        hu_pricer_learn(p->at[0], p->at[k]);
}

void hu_pricers_free(hu_pricers *p)
{
    if (!p)
        return;
    for (size_t k = 1; k < p->n; k++)
        hu_arena_free(p->arenas[k]);
    hu_arena_free(p->arena);
}
