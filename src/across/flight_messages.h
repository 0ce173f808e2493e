/* SPDX-License-Identifier: Apache-2.0
 * flight_messages.h - who never called the send or the receive that others wait for. */
#ifndef HU_ACROSS_FLIGHT_MESSAGES_H
#define HU_ACROSS_FLIGHT_MESSAGES_H

#include "across/flight.h"

/*
 * Where only sends and receives wait: `places` has a row for each dump, in their order.  Blames the rank that the others
 * wait for and sets out->expected to the call that waits for it; leaves both as they are where the dumps do not show it.
 * Returns 0 or HU_ENOMEM.
 */
int hu_flight_match_messages(const hu_flight_dump *dumps, size_t n, hu_flight_place *places, hu_arena *arena,
                             hu_flight_answer *out, hu_error *err);

#endif
