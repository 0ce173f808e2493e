/* SPDX-License-Identifier: Apache-2.0
 * operators.h - what torch's key_averages() shows: operators and calls by name, with host and device time. */
#ifndef HU_ANALYZE_OPERATORS_H
#define HU_ANALYZE_OPERATORS_H

#include "analyze/groups.h"

typedef struct {
    hu_str  name;  /* "ProfilerStep*" for all steps together */
    hu_str  group; /* the shapes, stack or modules it is grouped by; "" none or not recorded */
    uint8_t kind;  /* hu_kind of its first slice */
    int64_t calls;
    int64_t host_total_ns;   /* sum of durations, nested ones counted again */
    int64_t host_self_ns;    /* without the operators, annotations and calls inside */
    int64_t device_total_ns; /* device work launched in it, however deep */
    int64_t device_self_ns;  /* device work launched by itself */
    int64_t host_bytes;      /* allocated minus released on the CPU by itself */
    int64_t device_bytes;    /* the same on devices */
    int64_t calls_in_steps;  /* those inside the steps that count */
} hu_operator;

typedef struct {
    hu_operator *at; /* by device_self_ns, then host_self_ns, then name */
    size_t       n;
    int64_t      host_self_sum_ns, device_self_sum_ns; /* what percentages refer to */
    bool         has_memory;                           /* the trace holds allocations */
    hu_grouping  grouping;
} hu_operators;

/*
 * Fills *out; rows live in the arena of `ask`, names are borrowed from the trace.  `frames` innermost frames of the Python
 * stack make a group.  Returns 0 or HU_ENOMEM.
 */
int hu_operators_measure(const hu_ask *ask, hu_grouping grouping, int frames, hu_operators *out, hu_error *err);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_operators_merge(hu_operators *into, const hu_operators *from, hu_arena *arena);

#endif
