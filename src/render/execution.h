/* SPDX-License-Identifier: Apache-2.0
 * execution.h - what ran by an execution trace, and that it cannot tell when: as text and as JSON. */
#ifndef HU_RENDER_EXECUTION_H
#define HU_RENDER_EXECUTION_H

#include "analyze/execution.h"
#include "base/out.h"

typedef struct {
    const hu_execution_answer *answer;
    size_t                     top; /* rows; 0: 10 */
    size_t                     width;
} hu_execution_report;

/* Why nothing here says why, and how to get what does. */
const char *hu_execution_why_not(const hu_execution_answer *answer);

extern const char hu_execution_next[];

void hu_execution_text(const hu_execution_report *r, hu_out *out);

/* docs/formats/execution-trace.md names the members. */
void hu_execution_json(const hu_execution_report *r, hu_out *out);

#endif
