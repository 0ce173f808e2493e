/* SPDX-License-Identifier: Apache-2.0
 * pricers.h - one graph, priced on several threads at once: each with its own costs and instants. */
#ifndef HU_GRAPH_PRICERS_H
#define HU_GRAPH_PRICERS_H

#include "graph/price.h"

typedef struct hu_pricers hu_pricers;

/* Of `first`, and of copies of it for more threads; no more than `most` jobs will need.  NULL: no memory. */
hu_pricers *hu_pricers_new(hu_pricer *first, int threads, size_t most);

hu_pricer *hu_pricers_first(const hu_pricers *p);

/* Calls job(context, pricer, i) once for every i in [0, n), in any order; no pricer does two at once.  What they replayed
   the first knows afterwards. */
void hu_pricers_each(hu_pricers *p, size_t n, void (*job)(void *context, hu_pricer *pricer, size_t i), void *context);

/* Was there no memory for something that a copy wanted to keep? */
bool hu_pricers_lacked(const hu_pricers *p);

void hu_pricers_free(hu_pricers *p);

#endif
