/* SPDX-License-Identifier: Apache-2.0
 * waiting_pool.h - threads that wait for the network nearly all the time, while the main thread waits for them. */
#ifndef HU_ANALYZE_WAITING_POOL_H
#define HU_ANALYZE_WAITING_POOL_H

#include "analyze/ask.h"

typedef struct {
    uint32_t threads;   /* of the pool, in all; 0: there is none */
    double   at_once;   /* how many of them there are at a time, while the main thread waits */
    uint32_t track;     /* the one of them that holds the others up most */
    int64_t  waits;     /* of all of them */
    int64_t  waited_ns; /* in these, while the main thread waits */
    int64_t  lived_ns;  /* of their lives, while the main thread waits */
    int64_t  path_ns;   /* on the critical path, on these threads */
    unsigned class;     /* hu_host_class of their calls: the network, or polling */
    hu_str call, peer;  /* in which they wait most; peer "" not recorded */
} hu_waiting_pool;

/* Of the process of a track, in a window.  `path_ns`: of the critical path, by track.  `inner`: hu_host_calls_find_inner.
   Texts are borrowed.  False: no memory. */
bool hu_waiting_pool_find(const hu_ask *ask, uint32_t main_track, hu_interval window, const int64_t *path_ns,
                          const uint8_t *inner, hu_waiting_pool *out);

#endif
