/* SPDX-License-Identifier: Apache-2.0
 * copies.h - memory copies and sets by direction and memory kind. */
#ifndef HU_ANALYZE_COPIES_H
#define HU_ANALYZE_COPIES_H

#include "analyze/ask.h"
#include "analyze/series.h"

typedef struct {
    hu_str  name;      /* as recorded: "Memcpy HtoD (Pageable -> Device)" */
    hu_str  direction; /* "HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "set"; "" unknown */
    hu_str  from, to;  /* "Pageable", "Pinned", "Device" …; "" unknown */
    int64_t calls;
    int64_t total_ns, min_ns, max_ns;
    int64_t bytes;          /* of the calls that say how many */
    int64_t timed_bytes_ns; /* time of those calls: bytes / this = GB/s */
    bool    has_bytes;
    bool    is_pageable; /* goes through a staging buffer and blocks the host */
    int64_t running_ns;  /* one of them at least ran; total_ns counts what ran at once twice */
    int64_t exposed_ns;  /* of running_ns: no kernel ran meanwhile */
    int64_t blocking;    /* calls that returned only when the copy was done */
} hu_copy;

typedef enum { HU_COPY_HTOD, HU_COPY_DTOH, HU_COPY_DTOD, HU_COPY_SET, HU_COPY_DIRECTIONS } hu_copy_direction;

typedef struct {
    hu_copy  *at; /* by total_ns, then name */
    size_t    n;
    int64_t   total_ns;
    int64_t   exposed_ns;               /* copies and sets together, while no kernel ran */
    int64_t   htod_ns;                  /* a copy from the host to a device ran */
    int64_t   htod_exposed_ns;          /* of htod_ns: no kernel ran meanwhile */
    hu_series gbps[HU_COPY_DIRECTIONS]; /* 1e9 bytes per second over time; copies of one direction at once add up */
} hu_copies;

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_copies_measure(const hu_ask *ask, hu_copies *out, hu_error *err);

/* Adds the rows of another rank to equal ones; series go.  Texts are borrowed.  False when there is no memory. */
bool hu_copies_merge(hu_copies *into, const hu_copies *from, hu_arena *arena);

/* 1e9 bytes per second over the calls that say how many bytes; NaN when none does. */
double hu_copy_gbps(const hu_copy *c);

#endif
