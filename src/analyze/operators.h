/* SPDX-License-Identifier: Apache-2.0
 * operators.h - what torch's key_averages() shows: operators and calls by name, with host and device time. */
#ifndef HU_ANALYZE_OPERATORS_H
#define HU_ANALYZE_OPERATORS_H

#include "base/error.h"
#include "base/interval.h"
#include "trace/trace.h"

typedef struct {
    hu_str  name;               /* "ProfilerStep*" for all steps together                               */
    hu_str  shapes;             /* "Input Dims" as recorded; "" unless grouped by shapes                */
    uint8_t kind;               /* hu_kind of its first slice                                           */
    int64_t calls;
    int64_t host_total_ns;      /* sum of durations, nested ones counted again                          */
    int64_t host_self_ns;       /* without the operators, annotations and calls inside                  */
    int64_t device_total_ns;    /* device work launched in it, however deep                             */
    int64_t device_self_ns;     /* device work launched by itself                                       */
    int64_t host_bytes;         /* allocated minus released on the CPU by itself                        */
    int64_t device_bytes;       /* the same on devices                                                  */
    int64_t calls_in_steps;     /* those inside the steps that count                                    */
} hu_operator;

typedef struct {
    hu_operator *at;            /* by device_self_ns, then host_self_ns, then name                      */
    size_t       n;
    int64_t      host_self_sum_ns, device_self_sum_ns;      /* what percentages refer to                */
    bool         has_memory;    /* the trace holds allocations                                          */
} hu_operators;

typedef struct {
    bool                by_shape;
    const hu_intervals *scope;  /* only slices that begin in here; NULL: all                            */
    const hu_intervals *steps;  /* for calls_in_steps; NULL: none                                       */
} hu_operators_options;

/* Fills *out; rows live in `arena`, texts are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_operators_measure(const hu_trace *trace, const hu_operators_options *options, hu_arena *arena, hu_arena *scratch,
                         hu_operators *out, hu_error *err);

#endif
