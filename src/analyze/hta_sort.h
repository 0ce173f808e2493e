/* SPDX-License-Identifier: Apache-2.0
 * hta_sort.h - in which order did pandas put rows of equal time?
 */
#ifndef HOLDUP_ANALYZE_HTA_SORT_H
#define HOLDUP_ANALYZE_HTA_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Fills order[n] with the places of keys[], none of which is NaN, by key.  Equal keys come in the order that numpy's
   argsort() leaves them in without vector instructions, which is not theirs: HTA's sums depend on it. */
void hu_hta_order(const double *keys, size_t n, uint32_t *order);

#endif
