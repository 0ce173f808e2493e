/* SPDX-License-Identifier: Apache-2.0
 * wakes.h - which wake-up ended which wait, where the recording says what threads waited for and who woke them. */
#ifndef HU_ANALYZE_WAKES_H
#define HU_ANALYZE_WAKES_H

#include "analyze/ask.h"

/* A call that waited, and what ended it. */
typedef struct {
    int64_t  end_ns, wake_ns; /* the end of the call; the wake-up, which may be a little later by its own clock reading */
    uint32_t slice;
    uint32_t waker; /* track */
    uint32_t wake;  /* row of hu_trace_wakes */
} hu_woken;

typedef struct {
    hu_woken *at; /* by end_ns, slice */
    size_t    n;
    uint8_t  *is_woken; /* by slice; NULL: nothing of the kind was recorded */
} hu_wakes;

/* Everything lives in `arena`.  False: no memory. */
bool hu_wakes_find(const hu_ask *ask, hu_arena *arena, hu_arena *scratch, hu_wakes *out);

/* What a call of the system waited for; NULL where that was not recorded. */
const hu_wait_detail *hu_wakes_detail(const hu_ask *ask, uint32_t slice);

/* Does a call wait for a lock of its process, not for one of a file? */
bool hu_wakes_is_lock(const hu_ask *ask, uint32_t slice);

#endif
