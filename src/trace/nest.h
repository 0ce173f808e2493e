/* SPDX-License-Identifier: Apache-2.0
 * nest.h - which slices of a thread lie in which: the one rule for parents, self times, and the rows that are drawn. */
#ifndef HU_TRACE_NEST_H
#define HU_TRACE_NEST_H

#include "base/interval.h"
#include "trace/trace.h"

enum { HU_NEST_ROUNDING_NS = 1000, HU_NEST_ROWS = 200, HU_NEST_NO_ROW = 255 };

typedef struct {
    uint32_t from, to;
} hu_nest_pair;

typedef HU_VEC(hu_nest_pair) hu_nest_pairs;

/* What is asked of the slices of one thread, and the answers. */
typedef struct {
    unsigned       kinds;   /* slices of others are as if they were not there */
    hu_interval    window;  /* of self times; [INT64_MIN, INT64_MAX) for all */
    uint32_t      *parent;  /* by slice, written; NULL: not asked */
    int64_t       *self_ns; /* by slice, added to; NULL: not asked */
    hu_quality    *quality; /* counts those that cross; NULL: not asked */
    hu_nest_pairs *after;   /* slices, and what is innermost when they end where that is not the parent; NULL: not asked */
    hu_nest_pairs *early;   /* places of the order, by the first: what stands there is best drawn before the second, where
                                 something shorter begins that it outlasts; NULL: not asked */
    hu_arena      *arena;   /* for working memory, too */
    size_t         crossed; /* slices that end after one that began before them and was open, by whatever it is */
} hu_nest;

/* `order` holds slices of a thread as hu_trace_order() has them.  False: no memory. */
bool hu_nest_thread(hu_nest *nest, const hu_slices *s, const uint32_t *order, uint32_t n);

/* All threads of a trace.  `parent` and `self_ns` have room for every slice; slices of other kinds, and what no thread did,
   have HU_NONE and 0.  False: no memory. */
bool hu_nest_kinds(const hu_trace *trace, unsigned kinds, uint32_t *parent, int64_t *self_ns, hu_arena *scratch);

/* The places of a thread's order as they are best drawn: outer slices first, even where inner ones begin before them. */
bool hu_nest_drawing(const hu_nest_pairs *early, uint32_t n, uint32_t *places, hu_arena *scratch);

/*
 * Rows for threads on which slices cross, by slice: in a row none overlaps another, and each is below its parent.
 * HU_NEST_NO_ROW: its thread nests, so a slice lies as deep as slices are open when it begins; `*rows` is NULL where that is
 * so of all threads.  In `arena`; false: no memory.
 */
bool hu_nest_rows(const hu_trace *trace, uint8_t **rows, hu_arena *arena);

#endif
