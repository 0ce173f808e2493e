/* SPDX-License-Identifier: Apache-2.0
 * copies.h - memory copies and sets by direction and memory kind. */
#ifndef HU_ANALYZE_COPIES_H
#define HU_ANALYZE_COPIES_H

#include "base/error.h"
#include "base/interval.h"
#include "trace/trace.h"

typedef struct {
    hu_str  name;               /* as recorded: "Memcpy HtoD (Pageable -> Device)"                      */
    hu_str  direction;          /* "HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "set"; "" unknown            */
    hu_str  from, to;           /* "Pageable", "Pinned", "Device" …; "" unknown                         */
    int64_t calls;
    int64_t total_ns, min_ns, max_ns;
    int64_t bytes;              /* of the calls that say how many                                       */
    int64_t timed_bytes_ns;     /* time of those calls: bytes / this = GB/s                             */
    bool    has_bytes;
    bool    is_pageable;        /* goes through a staging buffer and blocks the host                    */
} hu_copy;

typedef struct {
    hu_copy *at;                /* by total_ns, then name */
    size_t   n;
    int64_t  total_ns;
} hu_copies;

/* As hu_kernels_measure. */
int hu_copies_measure(const hu_trace *trace, const hu_intervals *scope, hu_arena *arena, hu_arena *scratch,
                      hu_copies *out, hu_error *err);

/* 1e9 bytes per second over the calls that say how many bytes; NaN when none does. */
double hu_copy_gbps(const hu_copy *c);

#endif
