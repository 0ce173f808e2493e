/* SPDX-License-Identifier: Apache-2.0
 * nsys_sums.h - what sums of `nsys stats` tell of a run, and that they cannot tell why: as text and as JSON. */
#ifndef HU_RENDER_NSYS_SUMS_H
#define HU_RENDER_NSYS_SUMS_H

#include "analyze/nsys_sums.h"
#include "base/out.h"

enum { HU_NSYS_HINTS = 3, HU_NSYS_HINT_BYTES = 400 };

typedef struct {
    const hu_nsys_sums   *sums;
    const hu_nsys_answer *answer;
    size_t                top; /* rows of each table; 0: 5 */
    size_t                width;
} hu_nsys_report;

/* Why nothing here says why. */
extern const char hu_nsys_why_not[];

/* The command that brings what is missing. */
void hu_nsys_next(const hu_nsys_sums *sums, hu_out *out);

/* What names and counts hint at, in sentences.  Returns how many. */
size_t hu_nsys_hints(const hu_nsys_answer *answer, char out[HU_NSYS_HINTS][HU_NSYS_HINT_BYTES]);

/* What the tables themselves lack, in sentences; "" nothing.  In `scratch`. */
hu_str hu_nsys_doubts(const hu_nsys_report *r, hu_arena *scratch);

void hu_nsys_text(const hu_nsys_report *r, hu_arena *scratch, hu_out *out);

/* docs/formats/nsys-stats.md names the members. */
void hu_nsys_json(const hu_nsys_report *r, hu_arena *scratch, hu_out *out);

#endif
