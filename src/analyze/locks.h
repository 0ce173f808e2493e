/* SPDX-License-Identifier: Apache-2.0
 * locks.h - the lock that threads of a process wait for most, who holds it meanwhile, and what for. */
#ifndef HU_ANALYZE_LOCKS_H
#define HU_ANALYZE_LOCKS_H

#include "analyze/wakes.h"

typedef struct {
    uint32_t object;           /* string id of its address; 0: no lock was waited for, or its address is not recorded */
    hu_str   name, taken_in;   /* of the object; the function that most waits were called from; "" not known */
    bool     is_gil;           /* that of Python's interpreter */
    int64_t  waits, waited_ns; /* calls that waited for it, over all threads */
    int64_t  all_ns;           /* the same of all locks of the process */
    int64_t  longest_ns;       /* of the thread that waits longest for locks in all */
    uint32_t n_waiters;
    int64_t  known_ns; /* in which threads waited and it is known who held it, each holder's time once */
    uint32_t n_holders, holder;
    int64_t  holder_ns;           /* of known_ns: of the thread `holder` (track) that holds it longest */
    int64_t  doing_ns;            /* of known_ns: what holders do longest */
    hu_str   doing;               /* the call; "" they compute */
    unsigned class;               /* hu_host_class of the call */
    hu_str  caller;               /* that calls it; "" not known */
    hu_str  function;             /* where they compute, by most samples; "" not known */
    int64_t in_function, samples; /* CPU samples of holders: in it, of all */
} hu_lock;

/* Of the process of a track.  `inner`: hu_host_calls_find_inner.  Texts are borrowed.  False: no memory. */
bool hu_locks_find(const hu_ask *ask, uint32_t main_track, const uint8_t *inner, hu_arena *scratch, hu_lock *out);

#endif
