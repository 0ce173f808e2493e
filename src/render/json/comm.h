/* SPDX-License-Identifier: Apache-2.0
 * comm.h - what several ranks show about communication, as members of an open JSON object. */
#ifndef HU_RENDER_JSON_COMM_H
#define HU_RENDER_JSON_COMM_H

#include "across/rendezvous.h"
#include "base/json_out.h"

/* Members "sizes", "fits" and two counts: what collectives and messages need without waiting. */
void hu_json_transfers(hu_json_out *j, const hu_transfers *t);

/* Members "messages" and "clocks"; `reference_rank` is -1 when not known. */
void hu_json_messages(hu_json_out *j, const hu_messages *m);
void hu_json_clocks(hu_json_out *j, const hu_rendezvous *r, int64_t reference_rank);

#endif
