/* SPDX-License-Identifier: Apache-2.0
 * past.h - what is kept of a node between looks: counters that rates are made of, and what GPUs did. */
#ifndef HU_TOP_PAST_H
#define HU_TOP_PAST_H

#include "top/model.h"

typedef struct hu_top_past hu_top_past;

/* NULL: no memory. */
hu_top_past *hu_top_past_new(void);
void         hu_top_past_free(hu_top_past *p);

/* Rates of the node since the look before. */
void hu_top_past_host(hu_top_past *p, const hu_top_look *l, hu_top_rates *out);

/* What each GPU did is added to its history, each rank gets its pace and each job its power.  False: no memory. */
bool hu_top_past_take(hu_top_past *p, const hu_top_look *l);

/* Of the GPU, rank or job of that number in the look that was taken last. */
const hu_top_history *hu_top_past_history(const hu_top_past *p, size_t gpu);
const hu_top_pace    *hu_top_past_pace(const hu_top_past *p, size_t rank);
double                hu_top_past_watts(const hu_top_past *p, size_t job);

#endif
