/* SPDX-License-Identifier: Apache-2.0
 * memory.h - allocations of the framework: curves, the peak and who held it, growth from step to step. */
#ifndef HU_ANALYZE_MEMORY_H
#define HU_ANALYZE_MEMORY_H

#include "analyze/ask.h"
#include "analyze/series.h"

/* What an allocation is for, as far as the time of its birth and death tells (memory.c says how). */
#define HU_MEMORY_CATEGORIES(C)                                                     \
    C(BEFORE, "before_capture", "held before the capture began")                    \
    C(TEMPORARY, "temporary", "temporary: freed by the operator that allocated it") \
    C(ACTIVATION, "activation", "activations: from forward, freed in backward")     \
    C(GRADIENT, "gradient", "allocated in backward")                                \
    C(OPTIMIZER, "optimizer", "allocated by the optimizer")                         \
    C(INPUT, "input", "allocated for the input")                                    \
    C(OTHER, "other", "others")

typedef enum {
#define C(id, key, words) HU_MEMORY_##id,
    HU_MEMORY_CATEGORIES(C)
#undef C
        HU_MEMORY_CATEGORY_COUNT
} hu_memory_category;

/* One operator's share of what was held at the peak. */
typedef struct {
    hu_str             device;     /* which pool */
    hu_str             op, module; /* "" unknown */
    hu_memory_category category;
    int64_t            bytes, allocations;
} hu_memory_holder;

typedef enum { HU_LEAK_UNKNOWN, HU_LEAK_NO, HU_LEAK_MAYBE, HU_LEAK_YES } hu_leak;

/* One pool: the CPU's, or a device's. */
typedef struct {
    hu_str    name; /* "cpu", "cuda:0" */
    int32_t   device_type, device;
    int64_t   allocations, frees;
    int64_t   allocated_bytes;     /* taken in all */
    int64_t   peak_bytes, peak_ns; /* most that was held at once, and when */
    int64_t   first_bytes, last_bytes;
    int64_t   reserved_bytes;                    /* most that the allocator held; -1 not recorded */
    int64_t   capacity_bytes;                    /* of the device; 0 unknown */
    bool      is_relative;                       /* the recorder gave no totals: bytes count from the first event */
    int64_t   peak_by[HU_MEMORY_CATEGORY_COUNT]; /* held at the peak */
    int64_t   steps;                             /* steps that the test of growth saw */
    double    slope_bytes;                       /* per step: the median of the slopes between all pairs of steps; NaN */
    double    growth_p; /* two-sided Mann-Kendall: chance of such a trend where there is none; NaN */
    hu_leak   leak;
    hu_series allocated, reserved;
} hu_memory_pool;

typedef struct {
    hu_memory_pool   *at; /* by peak, largest first */
    size_t            n;
    hu_memory_holder *holders; /* of all pools, most first */
    size_t            n_holders;
    int64_t           ooms; /* out-of-memory records */
} hu_memory;

enum { HU_MEMORY_HOLDERS = 200 };

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_memory_measure(const hu_ask *ask, hu_memory *out, hu_error *err);

/* Keeps the pools of another rank beside; holders are added.  False when there is no memory. */
bool hu_memory_merge(hu_memory *into, const hu_memory *from, hu_arena *arena);

const char *hu_memory_category_key(hu_memory_category c);
const char *hu_memory_category_words(hu_memory_category c);
const char *hu_leak_name(hu_leak leak); /* "unknown", "no", "maybe", "yes" */

#endif
