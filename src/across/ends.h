/* SPDX-License-Identifier: Apache-2.0
 * ends.h - were calls that were laid side by side by their order alone one collective?  Their ends say so. */
#ifndef HU_ACROSS_ENDS_H
#define HU_ACROSS_ENDS_H

#include "across/meetings.h"

typedef struct {
    double end_ns;     /* median over meetings of how far the ends of their members lie apart */
    double start_ns;   /* the same of starts */
    double impossible; /* share of the meetings that somebody left before somebody else had come */
    bool   agree;
} hu_ends;

/*
 * Over the meetings [first, first + n) of one group, each with the same members; n > 0.  Clocks count as they are, and where
 * they do not agree, less the median that each member is behind the first.  False when there is no memory.
 */
bool hu_ends_compare(const hu_meetings *m, size_t first, size_t n, hu_arena *scratch, hu_ends *out);

#endif
