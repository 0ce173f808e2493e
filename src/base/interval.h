/* SPDX-License-Identifier: Apache-2.0
 * interval.h - sets of time as sorted, disjoint, half-open intervals in ns. */
#ifndef HU_BASE_INTERVAL_H
#define HU_BASE_INTERVAL_H

#include "base/arena.h"

typedef struct {
    int64_t start_ns, end_ns;
} hu_interval;

typedef struct {
    hu_interval *at;
    size_t       n, cap;
} hu_intervals;

/* Adds one interval to a list that need not be sorted; empty and inverted ones are ignored.  False: no memory. */
bool hu_intervals_add(hu_arena *arena, hu_intervals *list, int64_t start_ns, int64_t end_ns);

/* Gives the memory of a list back before its arena goes, and leaves it empty. */
void hu_intervals_drop(hu_arena *arena, hu_intervals *list);

/* Sorts the list and merges what overlaps or touches, in place.  Every function below expects such lists.
   False: no memory. */
bool hu_intervals_unite(hu_arena *arena, hu_intervals *list);

int64_t hu_intervals_length(const hu_intervals *a);

/* |a ∩ b| */
int64_t hu_intervals_common(const hu_intervals *a, const hu_intervals *b);

/* |a ∩ [start, end)| for each of `n` sorted disjoint windows, added to out_ns[0..n). */
void hu_intervals_split(const hu_intervals *a, const hu_interval *windows, size_t n, int64_t *out_ns);

/* out = a ∩ b, a ∖ b, a ∪ b; out is a fresh list.  False: no memory. */
bool hu_intervals_intersect(hu_arena *arena, const hu_intervals *a, const hu_intervals *b, hu_intervals *out);
bool hu_intervals_subtract(hu_arena *arena, const hu_intervals *a, const hu_intervals *b, hu_intervals *out);
bool hu_intervals_join(hu_arena *arena, const hu_intervals *a, const hu_intervals *b, hu_intervals *out);

#endif
