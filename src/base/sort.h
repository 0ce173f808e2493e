/* SPDX-License-Identifier: Apache-2.0
 * sort.h - sorting and selecting integers without a call for each comparison. */
#ifndef HU_BASE_SORT_H
#define HU_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending, in place. */
void hu_sort_i64(int64_t *values, size_t n);

/* The value that would stand at a place < n if they were sorted.  Moves them, and sorts no more than it must. */
int64_t hu_sort_nth_i64(int64_t *values, size_t n, size_t place);

#endif
