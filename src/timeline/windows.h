/* SPDX-License-Identifier: Apache-2.0
 * windows.h - which part of a trace is drawn when all of it is too much. */
#ifndef HU_TIMELINE_WINDOWS_H
#define HU_TIMELINE_WINDOWS_H

#include "analyze/steps.h"
#include "base/arena.h"

/* Pieces of time, by start, apart from each other; none: everything. */
typedef struct {
    hu_interval *at; /* in ns since the first slice */
    size_t       n;
    size_t       n_slices; /* of the trace */
    size_t       n_steps;  /* that were chosen; 0: pieces are not steps */
    bool         is_asked; /* the caller named the piece */
} hu_windows;

/*
 * The piece [from, to) where there is one.  Else everything, when that is at most `most` slices or `most` is 0.  Else steps:
 * the one of median length, the slowest, and then those nearest to the first, as many as fit; without steps, the beginning.
 * Returns 0 or HU_ENOMEM.
 */
int hu_windows_choose(const hu_trace *trace, const hu_steps *steps, int64_t origin_ns, int64_t from_ns, int64_t to_ns,
                      size_t most, hu_arena *arena, hu_windows *out, hu_error *err);

/* Does any of [start, end] lie in a window? */
static inline bool hu_windows_hold(const hu_windows *w, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0, high = w->n;

    if (w->n == 0)
        return true;
    while (low < high) { /* the first window that ends after the start */
        const size_t middle = (low + high) / 2;

        if (w->at[middle].end_ns > start_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low < w->n && (w->at[low].start_ns < end_ns || w->at[low].start_ns == start_ns);
}

/* In words what is left out, "" when nothing is; `kept` slices are there. */
void hu_windows_say(const hu_windows *w, const hu_steps *steps, size_t kept, char *out, size_t room);

#endif
