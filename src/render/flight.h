/* SPDX-License-Identifier: Apache-2.0
 * flight.h - why a job hangs, by its Flight Recorder dumps: as text and as JSON. */
#ifndef HU_RENDER_FLIGHT_H
#define HU_RENDER_FLIGHT_H

#include "across/flight.h"
#include "base/out.h"
#include "base/unread.h"

typedef struct {
    const hu_flight_answer *answer;
    const hu_flight_dump   *dumps;
    size_t                  n_dumps;
    const hu_unread_list   *unread;
    hu_arena               *scratch;
    size_t                  top;   /* rows of the table; 0: 16 */
    size_t                  width; /* of the text, in columns */
} hu_flight_report;

/* The whole answer in one sentence, in r->scratch; "" when there is no memory.  Names in it are as hostile as the dumps. */
hu_str hu_flight_sentence(const hu_flight_report *r);

/* "Rank 3", "ranks 0, 2–5 and 9": ascending. */
void hu_flight_say_ranks(hu_out *out, const int64_t *ranks, size_t n, bool is_first);

/* "the default group", "group 3 (tensor_parallel)" */
void hu_flight_say_group(hu_out *out, hu_str name, hu_str about);

/* "high", "medium", "low". */
const char *hu_flight_trust_word(hu_flight_trust trust);

/* Index of the frame that says most: the innermost of the user's own code, else the innermost. */
size_t hu_flight_user_frame(const hu_flight_stack *stack);

void hu_flight_text(const hu_flight_report *r, hu_out *out);
void hu_flight_json(const hu_flight_report *r, hu_out *out);

#endif
