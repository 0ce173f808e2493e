/* SPDX-License-Identifier: Apache-2.0
 * outside.h - processes of the job that the recorder was not in, as it wrote them down: what they waited for is not
 * known. */
#ifndef HU_ANALYZE_OUTSIDE_H
#define HU_ANALYZE_OUTSIDE_H

#include "analyze/ask.h"

typedef struct {
    int64_t pid, uid;        /* uid: -1 not known */
    int64_t cpu_ns, life_ns; /* of all its threads; as long as it was seen */
    hu_str  name, why;       /* comm; a sentence without its subject */
} hu_outside_process;

typedef struct {
    hu_outside_process *at; /* by cpu_ns, pid */
    size_t              n;
    int64_t             cpu_ns;
} hu_outside;

/* Rows live in the arena of `ask`, texts are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_outside_measure(const hu_ask *ask, hu_outside *out, hu_error *err);

/* Adds the rows of another rank.  Texts are borrowed.  False when there is no memory. */
bool hu_outside_merge(hu_outside *into, const hu_outside *from, hu_arena *arena);

#endif
