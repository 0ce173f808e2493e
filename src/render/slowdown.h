/* SPDX-License-Identifier: Apache-2.0
 * slowdown.h - the answer of `holdup stragglers`: as text and as JSON. */
#ifndef HU_RENDER_SLOWDOWN_H
#define HU_RENDER_SLOWDOWN_H

#include "advise/slowdown.h"
#include "base/out.h"

typedef struct {
    const hu_slowdown *slowdown;
    size_t             top;       /* rows of each table of the text; 0: as many as fit a screen */
    size_t             width;     /* of the text, in columns */
    bool               has_steps; /* JSON: what each stage, dp rank and type does to each step */
} hu_slowdown_report;

/* What holds the job up, in one paragraph; *out has `room` bytes and is filled with text that ends in a NUL. */
void hu_slowdown_sentence(const hu_slowdown *s, char *out, size_t room);

void hu_slowdown_text(const hu_slowdown_report *r, hu_out *out);
void hu_slowdown_json(const hu_slowdown_report *r, hu_out *out);

#endif
