/* SPDX-License-Identifier: Apache-2.0
 * ras.h - why a job hangs, by NCCL's RAS subsystem: as text and as JSON. */
#ifndef HU_RENDER_RAS_H
#define HU_RENDER_RAS_H

#include "across/ras.h"
#include "base/out.h"

typedef struct {
    const hu_ras_answer *answer;
    size_t               n_queries;
    hu_arena            *scratch;
    size_t               top;   /* rows of the table; 0: 16 */
    size_t               width; /* of the text, in columns */
} hu_ras_report;

/* The whole answer in one sentence, in r->scratch; "" when there is no memory. */
hu_str hu_ras_sentence(const hu_ras_report *r);

/* "high", "medium", "low". */
const char *hu_ras_trust_word(const hu_ras_answer *a);

void hu_ras_text(const hu_ras_report *r, hu_out *out);
void hu_ras_json(const hu_ras_report *r, hu_out *out);

#endif
