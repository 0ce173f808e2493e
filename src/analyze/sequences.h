/* SPDX-License-Identifier: Apache-2.0
 * sequences.h - which kernels an operator launches again and again in the same order: what fusing could join. */
#ifndef HU_ANALYZE_SEQUENCES_H
#define HU_ANALYZE_SEQUENCES_H

#include "analyze/ask.h"

typedef struct {
    hu_str  op;      /* the operator */
    hu_str  kernels; /* their labels in order, joined by " → " */
    int64_t length;  /* kernels in one occurrence */
    int64_t count;
    int64_t device_ns, host_ns; /* sums over the occurrences; device: of the kernels, host: of the operator */
} hu_sequence;

typedef struct {
    hu_sequence *at; /* by count * length, then device time, then texts */
    size_t       n;
} hu_sequences;

enum { HU_SEQUENCE_LEAST = 3, HU_SEQUENCE_MOST = 64, HU_SEQUENCE_ROWS = 200 };

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_sequences_measure(const hu_ask *ask, hu_sequences *out, hu_error *err);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_sequences_merge(hu_sequences *into, const hu_sequences *from, hu_arena *arena);

#endif
