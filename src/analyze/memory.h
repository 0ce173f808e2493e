/* SPDX-License-Identifier: Apache-2.0
 * memory.h - allocations of the framework: curves, the peak and who held it, growth from step to step. */
#ifndef HU_ANALYZE_MEMORY_H
#define HU_ANALYZE_MEMORY_H

#include "analyze/ask.h"
#include "analyze/memory_pieces.h"
#include "analyze/series.h"

/* What an allocation is for, as far as the time of its birth and death tells (memory.c says how). */
#define HU_MEMORY_CATEGORIES(C)                                                     \
    C(BEFORE, "before_capture", "held before the capture began")                    \
    C(TEMPORARY, "temporary", "temporary: freed by the operator that allocated it") \
    C(ACTIVATION, "activation", "activations: from forward, freed in backward")     \
    C(GRADIENT, "gradient", "allocated in backward")                                \
    C(OPTIMIZER, "optimizer", "allocated by the optimizer")                         \
    C(INPUT, "input", "allocated for the input")                                    \
    C(PARAMETER, "parameter", "parameters")                                         \
    C(AUTOGRAD, "autograd", "kept by autograd for itself")                          \
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

/* A whole call chain's share of what was held at the peak. */
typedef struct {
    hu_str             device, stack; /* outermost frame first, separated by ';' */
    hu_memory_category category;
    int64_t            bytes, allocations;
} hu_memory_stack;

/* What code holds when the capture ends, and how that changed from the end of the first step on. */
typedef struct {
    hu_str  device, op, stack; /* stack: "" unknown */
    int64_t bytes, allocations;
    int64_t grown_bytes, grown_allocations; /* 0 without steps */
} hu_memory_code;

/* What code holds at the end of one snapshot, and held at the end of the one before. */
typedef struct {
    hu_str  device, op, stack;
    int64_t before_bytes, before_allocations, bytes, allocations;
} hu_memory_change;

/* The end of a step, and what the largest pool held then. */
typedef struct {
    int64_t end_ns, bytes;
} hu_memory_step;

/* A segment of an allocator, at the end of a snapshot; and the runs of blocks in it that are all held, or all free. */
typedef struct {
    hu_str  device;
    int64_t bytes, held_bytes, largest_free_bytes, stream;
    bool    is_small, is_expandable;
} hu_memory_piece;

typedef struct {
    int64_t segment; /* row of segments */
    int64_t offset_bytes, bytes, blocks;
    bool    is_held;
} hu_memory_run;

#define HU_MEMORY_WHYS(C)                                                        \
    C(UNKNOWN, "unknown", "the file does not say what the allocator held")       \
    C(FULL, "full", "less than that is free in all that the allocator reserves") \
    C(PIECES, "pieces", "as much is free, in pieces that are each too small")    \
    C(OTHERS, "others", "a piece would be large enough, but belongs to another stream or graph")

typedef enum {
#define C(id, key, words) HU_MEMORY_WHY_##id,
    HU_MEMORY_WHYS(C)
#undef C
        HU_MEMORY_WHY_COUNT
} hu_memory_why;

/* An allocation that failed. */
typedef struct {
    hu_str           device, op;
    int64_t          time_ns, bytes;    /* that it asked for */
    int64_t          driver_free_bytes; /* that the driver still had; -1 not recorded */
    hu_memory_pieces pieces;            /* of the pool at that moment */
    hu_memory_why    why;
} hu_memory_failure;

typedef enum { HU_LEAK_UNKNOWN, HU_LEAK_NO, HU_LEAK_MAYBE, HU_LEAK_YES } hu_leak;

/* One pool: the CPU's, or a device's. */
typedef struct {
    hu_str           name; /* "cpu", "cuda:0" */
    int32_t          device_type, device;
    int64_t          allocations, frees;
    int64_t          allocated_bytes;     /* taken in all */
    int64_t          peak_bytes, peak_ns; /* most that was held at once, and when */
    int64_t          first_bytes, last_bytes;
    int64_t          reserved_bytes;          /* most that the allocator held; -1 not recorded */
    int64_t          capacity_bytes;          /* of the device; 0 unknown */
    int64_t          segments;                /* pieces of the device that the allocator holds at the end; 0 unknown */
    int64_t          free_bytes, free_blocks; /* in them, that nobody holds */
    int64_t          largest_free_bytes;      /* of those the largest */
    bool             is_expandable;           /* segments can grow, so that free space is in few pieces */
    int64_t          requested_bytes;         /* of what is held at the end, before the allocator rounded up; -1 */
    int64_t          graph_free_bytes;        /* of free_bytes, in pools of CUDA graphs */
    hu_memory_pieces at_peak, at_end;
    bool             is_relative;                       /* the recorder gave no totals: bytes count from the first event */
    int64_t          peak_by[HU_MEMORY_CATEGORY_COUNT]; /* held at the peak */
    int64_t          steps;                             /* steps that the test of growth saw */
    double           slope_bytes; /* per step: the median of the slopes between all pairs of steps; NaN */
    double           growth_p;    /* two-sided Mann-Kendall: chance of such a trend where there is none; NaN */
    hu_leak          leak;
    hu_series        allocated, reserved;
} hu_memory_pool;

typedef struct {
    hu_memory_pool   *at; /* by peak, largest first */
    size_t            n;
    hu_memory_holder *holders; /* of all pools, most first */
    size_t            n_holders;
    int64_t           ooms;         /* out-of-memory records */
    int64_t           failed_bytes; /* that the last of them asked for; 0 unknown */

    hu_memory_stack   *stacks; /* at the peak, most first; of recorders that know stacks */
    size_t             n_stacks;
    hu_memory_code    *code; /* at the end, most first */
    size_t             n_code;
    hu_memory_failure *failures; /* the last ones, by time */
    size_t             n_failures;
    hu_series          by[HU_MEMORY_CATEGORY_COUNT]; /* of the largest pool */
    hu_memory_step    *steps;
    size_t             n_steps;
    hu_memory_piece   *segments; /* the largest, by size */
    size_t             n_segments;
    hu_memory_run     *runs; /* of these, by segment and address */
    size_t             n_runs;
    hu_str             since;  /* the snapshot named before this one; "" none */
    hu_memory_change  *change; /* since then, what grew most first */
    size_t             n_change;
} hu_memory;

enum {
    HU_MEMORY_HOLDERS = 200,
    HU_MEMORY_STACKS = 2000,
    HU_MEMORY_CODE = 10000,
    HU_MEMORY_FAILURES = 50,
    HU_MEMORY_SEGMENTS = 200,
    HU_MEMORY_RUNS = 4000
};

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_memory_measure(const hu_ask *ask, hu_memory *out, hu_error *err);

/* Keeps the pools of another rank beside; holders are added.  False when there is no memory. */
bool hu_memory_merge(hu_memory *into, const hu_memory *from, hu_arena *arena);

/* Fills since and change of `now`, in `arena`.  False when there is no memory. */
bool hu_memory_compare(const hu_memory *before, hu_str name, hu_memory *now, hu_arena *arena);

/*
 * For each record of hu_trace_memory() the row of the one that ends or begins it: HU_NONE where there is none.  In `arena`;
 * NULL when there is no memory.
 */
const uint32_t *hu_memory_partners(const hu_ask *ask, hu_arena *arena);

const char *hu_memory_why_key(hu_memory_why why);
const char *hu_memory_category_key(hu_memory_category c);
const char *hu_memory_category_words(hu_memory_category c);
const char *hu_leak_name(hu_leak leak); /* "unknown", "no", "maybe", "yes" */

#endif
