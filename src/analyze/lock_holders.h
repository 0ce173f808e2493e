/* SPDX-License-Identifier: Apache-2.0
 * lock_holders.h - who holds the locks that threads wait for, and what it does meanwhile. */
#ifndef HU_ANALYZE_LOCK_HOLDERS_H
#define HU_ANALYZE_LOCK_HOLDERS_H

#include "analyze/ask.h"

typedef struct {
    int64_t  waited_ns; /* in which any thread of the main process waits for a lock */
    int64_t  known_ns;  /* of that: all of its threads but one wait for locks or threads, so that one holds it */
    int64_t  doing_ns;  /* of known_ns: what the holder does longest */
    hu_str   doing;     /* the call, borrowed; "" it computes */
    hu_str   function;  /* where it computes, by most samples of that time; "" not known */
    int64_t  holder_ns; /* of known_ns: the thread that holds it longest */
    uint32_t holder;    /* track of that */
    uint32_t n_holders; /* threads that hold it for a tenth of known_ns or more */
    bool     waits_too; /* each of those also waits for it */
} hu_lock_holders;

/* Of the process of a track; calls are those that `is_lock` names by slice.  False: no memory. */
bool hu_lock_holders_find(const hu_ask *ask, uint32_t main_track, const uint8_t *is_lock, const uint8_t *inner,
                          hu_arena *scratch, hu_lock_holders *out);

/* By slice: 1 for a call that waits for a lock of the process, not of a file; in `scratch`, NULL: no memory. */
uint8_t *hu_lock_holders_calls(const hu_ask *ask, hu_arena *scratch);

#endif
