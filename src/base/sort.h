/* SPDX-License-Identifier: Apache-2.0
 * sort.h - sorting integers without a call for each comparison. */
#ifndef HU_BASE_SORT_H
#define HU_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending, in place. */
void hu_sort_i64(int64_t *values, size_t n);

#endif
