/* SPDX-License-Identifier: Apache-2.0
 * pauses.h - what lies between two marks of steps, and is no part of any step. */
#ifndef HU_ANALYZE_PAUSES_H
#define HU_ANALYZE_PAUSES_H

#include "base/arena.h"
#include "base/error.h"
#include "trace/trace.h"

/* The marks of one thread, in order: each from its beginning to its own end. */
typedef struct {
    const int64_t *start_ns, *end_ns;
    size_t         n;
    uint32_t       track;
} hu_marks;

/*
 * Sets after[i] where a pause lies between mark i and the next; `names` are the flags of hu_names_classify.  *what: the
 * range that takes most of all of them, 0 where none was recorded.  Returns 0 or HU_ENOMEM.
 */
int hu_pauses_find(const hu_trace *trace, const uint8_t *names, const hu_marks *marks, bool *after, uint32_t *what,
                   hu_arena *scratch, hu_error *err);

#endif
