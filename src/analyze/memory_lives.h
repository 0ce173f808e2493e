/* SPDX-License-Identifier: Apache-2.0
 * memory_lives.h - every allocation from its birth to its death, for who draws or adds them up. */
#ifndef HU_ANALYZE_MEMORY_LIVES_H
#define HU_ANALYZE_MEMORY_LIVES_H

#include "analyze/memory.h"

#define HU_BORN_BEFORE INT64_MIN
#define HU_DIED_NEVER  INT64_MAX

typedef struct {
    int64_t  born_ns, died_ns; /* HU_BORN_BEFORE the capture; HU_DIED_NEVER in it */
    int64_t  bytes;
    uint32_t pool;        /* row of hu_memory_lives.pools */
    uint32_t op;          /* slice of the operator that took it; HU_NONE */
    uint32_t site, stack; /* as of hu_memory_event: of its birth, or of its end where only that is in the capture */
    uint8_t  category;    /* hu_memory_category */
} hu_memory_span;

typedef struct {
    hu_memory_span *at; /* those from before the capture, then by birth */
    size_t          n;
    hu_str         *pools; /* names, as of hu_memory_pool */
    size_t          n_pools;
    int64_t         first_ns, last_ns; /* of the events */
    bool            has_address;       /* else no birth is known to belong to a death: both are rows of their own */
} hu_memory_lives;

/* Of a trace without allocations n is 0.  Rows live in the arena of `ask`.  Returns 0 or HU_ENOMEM. */
int hu_memory_lives_find(const hu_ask *ask, hu_memory_lives *out, hu_error *err);

#endif
