/* SPDX-License-Identifier: Apache-2.0
 * join.h - puts the tables of two ranks together: equal rows are added, the others kept. */
#ifndef HU_ANALYZE_JOIN_H
#define HU_ANALYZE_JOIN_H

#include "base/arena.h"
#include "base/str.h"

/* How one type of row behaves. */
typedef struct {
    size_t row_bytes;
    void (*key)(const void *row, hu_str *a, hu_str *b); /* rows are equal when both texts are; *b may stay "" */
    void (*add)(void *into, const void *from);
    int (*compare)(const void *left, const void *right); /* the order of the table */
} hu_join_rule;

/* The rows of `into` and `from` together, sorted, in *into and *n; in `arena`.  False when there is no memory. */
bool hu_join_rows(const hu_join_rule *rule, void **into, size_t *n, const void *from, size_t n_from, hu_arena *arena);

/* The list with another one behind it, in `arena`.  False when there is no memory. */
bool hu_join_chain(void **into, size_t *n, const void *from, size_t n_from, size_t row_bytes, hu_arena *arena);

#endif
