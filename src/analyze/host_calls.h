/* SPDX-License-Identifier: Apache-2.0
 * host_calls.h - calls of the operating system: how many, how long, on what; and what of it the main thread waits for. */
#ifndef HU_ANALYZE_HOST_CALLS_H
#define HU_ANALYZE_HOST_CALLS_H

#include "analyze/ask.h"

/* Of all threads and processes, but for main_ns.  A call inside of another (fwrite, write) is not counted. */
typedef struct {
    int64_t calls, total_ns, longest_ns;
    int64_t bytes;      /* of the calls that say so */
    int64_t main_ns;    /* of the main thread, inside of the steps that count */
    int64_t outside_ns; /* of total_ns: seen from outside, not recorded in the program */
} hu_host_sum;

typedef struct {
    hu_str name; /* of the function */
    hu_host_class class;
    hu_host_sum sum;
} hu_host_call;

/* One thing that is waited for: a file or peer, from one place in the program. */
typedef struct {
    hu_str call, path; /* path: "" not recorded */
    hu_str within;     /* the innermost range, function or operator around it; "" none */
    hu_host_class class;
    hu_host_sum sum;
} hu_host_place;

enum { HU_HOST_PLACES = 200 }; /* rows that are kept: half by main_ns, half by total_ns */

typedef struct {
    hu_host_sum    by_class[HU_HOST_CLASS_COUNT];
    hu_host_call  *at; /* by main_ns, total_ns, name */
    size_t         n;
    hu_host_place *places; /* by the same */
    size_t         n_places;
} hu_host_calls;

/* Rows live in the arena of `ask`, texts are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_host_calls_measure(const hu_ask *ask, hu_host_calls *out, hu_error *err);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_host_calls_merge(hu_host_calls *into, const hu_host_calls *from, hu_arena *arena);

/* Number `nth` from 0 of the places of some classes (bits of 1 << hu_host_class), those that the main thread waits in
   first; NULL: there are fewer. */
const hu_host_place *hu_host_calls_place(const hu_host_calls *c, unsigned classes, size_t nth);

/* By slice: 1 for a call of the system or of MPI that is inside of another.  In `scratch`; NULL: no memory. */
const uint8_t *hu_host_calls_find_inner(const hu_ask *ask, hu_arena *scratch);

/* Is most of it known from looks at waiting threads, not recorded in the program? */
bool hu_host_sum_is_outside(const hu_host_sum *sum);

/* Of a slice of kind HU_KIND_OS_CALL or HU_KIND_MPI. */
hu_host_class hu_host_calls_class(const hu_ask *ask, uint32_t slice);

#endif
