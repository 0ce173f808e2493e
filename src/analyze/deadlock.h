/* SPDX-License-Identifier: Apache-2.0
 * deadlock.h - threads that wait for locks which they hold from each other, until the recording ends. */
#ifndef HU_ANALYZE_DEADLOCK_H
#define HU_ANALYZE_DEADLOCK_H

#include "analyze/ask.h"

/* A thread of the circle; the next one, of the last the first, has the lock that it waits for. */
typedef struct {
    hu_str  name, call, lock, caller; /* "" not known */
    int64_t tid, waited_ns;
} hu_stuck;

typedef struct {
    hu_stuck *at;
    size_t    n; /* 0: no circle */
} hu_deadlock;

/* The first circle that is found.  Rows live in the arena of `ask`, texts are borrowed.  Returns 0 or HU_ENOMEM. */
int hu_deadlock_find(const hu_ask *ask, hu_deadlock *out, hu_error *err);

#endif
