/* SPDX-License-Identifier: Apache-2.0
 * memory_difference.h - what two runs hold of the memory of a device, as both recorded it. */
#ifndef HU_JOB_MEMORY_DIFFERENCE_H
#define HU_JOB_MEMORY_DIFFERENCE_H

#include "analyze/digest.h"

/* NaN: not recorded. */
typedef struct {
    hu_str      pool; /* "cuda:0"; of two devices, A's */
    const char *key;  /* stable, for --json; NULL: what `name` holds at the peak */
    const char *words;
    hu_str      name;
    double      a_bytes, b_bytes;
} hu_bytes_change;

typedef struct {
    HU_VEC(hu_bytes_change) sums;    /* of each pool: peak, reserved, end, free, categories */
    HU_VEC(hu_bytes_change) holders; /* at the peak of the largest pool, by operator, most changed first */
} hu_memory_difference;

/* Rows live in `arena`, names in the digests.  Without pools of one kind in both there are none.  False: no memory. */
bool hu_memory_difference_measure(const hu_digest *a, const hu_digest *b, hu_arena *arena, hu_memory_difference *out);

#endif
