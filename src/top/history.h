/* SPDX-License-Identifier: Apache-2.0
 * history.h - the last values of something that is plotted. */
#ifndef HU_TOP_HISTORY_H
#define HU_TOP_HISTORY_H

#include <math.h>
#include <stddef.h>

enum { HU_TOP_HISTORY = 240 };

typedef struct {
    float  value[HU_TOP_HISTORY]; /* NAN: not known then */
    size_t n, next;
} hu_top_history;

static inline void hu_top_history_add(hu_top_history *h, double value)
{
    h->value[h->next] = (float)value;
    h->next = (h->next + 1) % HU_TOP_HISTORY;
    h->n += h->n < HU_TOP_HISTORY;
}

/* The value `ago` looks before the last one; NAN: there was none. */
static inline double hu_top_history_at(const hu_top_history *h, size_t ago)
{
    return ago < h->n ? (double)h->value[(h->next + HU_TOP_HISTORY - 1 - ago) % HU_TOP_HISTORY] : NAN;
}

#endif
