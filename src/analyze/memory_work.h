/* SPDX-License-Identifier: Apache-2.0
 * memory_work.h - what the files about memory share while they measure: each allocation from its birth to its death. */
#ifndef HU_ANALYZE_MEMORY_WORK_H
#define HU_ANALYZE_MEMORY_WORK_H

#include "analyze/memory.h"
#include "base/map.h"

typedef struct {
    uint32_t born, died; /* places in the list by time; died = HU_NONE: never */
    uint32_t op;         /* slice; HU_NONE */
    uint32_t pool;
    uint8_t  category;
} hu_memory_life;

typedef struct {
    const hu_ask          *ask;
    const hu_memory_event *events;
    uint32_t              *order; /* events by time */
    size_t                 n;
    uint8_t               *phase; /* by string id */
    HU_VEC(hu_memory_pool) pools;
    HU_VEC(hu_memory_life) list;
    hu_map    live;    /* address to allocation */
    int64_t  *held;    /* by place: bytes of its pool afterwards */
    uint32_t *pool_of; /* by place */
    uint32_t *peak_at; /* by pool: place */
} hu_memory_work;

static inline const hu_memory_event *hu_memory_birth(const hu_memory_work *w, const hu_memory_life *a)
{
    return &w->events[w->order[a->born]];
}

/* Is it held after the event at this place of the list by time? */
static inline bool hu_memory_is_held(const hu_memory_life *a, uint32_t place)
{
    return a->born <= place && (a->died == HU_NONE || a->died > place);
}

/*
 * Times at which a step of a pool's device has ended, in *out: of the steps of the trace, warm-up apart, or else of the
 * optimizer, as a snapshot marks them.  At most `most`.  False when there is no memory.
 */
bool hu_memory_step_ends(const hu_memory_work *w, uint32_t pool, size_t most, int64_t **out, size_t *n);

/* Of w->events of w->ask: fills the rest, but for categories.  Returns 0 or HU_ENOMEM. */
int hu_memory_follow(hu_memory_work *w, hu_error *err);

/* Fills the category of an allocation that was followed. */
void hu_memory_judge(hu_memory_work *w, hu_memory_life *a);

/* What a recorder says that knows tensors. */
hu_memory_category hu_memory_category_of(hu_memory_use use);

/* memory_code.c: fills stacks, n_stacks, code and n_code of *out.  Returns 0 or HU_ENOMEM. */
int hu_memory_find_code(hu_memory_work *w, hu_memory *out, hu_error *err);

/* memory_segments.c: fills segments, n_segments, runs and n_runs of *out. */
int hu_memory_find_segments(hu_memory_work *w, hu_memory *out, hu_error *err);

/* memory_failures.c: fills failures and n_failures of *out, and the moments of the pools. */
int hu_memory_find_failures(hu_memory_work *w, hu_memory *out, hu_error *err);

#endif
