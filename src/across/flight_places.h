/* SPDX-License-Identifier: Apache-2.0
 * flight_places.h - what each member of a group did about one number. */
#ifndef HU_ACROSS_FLIGHT_PLACES_H
#define HU_ACROSS_FLIGHT_PLACES_H

#include "across/flight_scene.h"

/* What a rank called last, of any group; NULL: nothing. */
const hu_flight_entry *hu_flight_last_call(const hu_flight_dump *d);

/* What this rank waits in, of other groups than `place`: the oldest; NULL: nothing. */
const hu_flight_entry *hu_flight_other_wait(const hu_flight_dump *d, uint32_t place);

/* What `rank` did about the number `sequence` of group `place`. */
hu_flight_place hu_flight_look(const hu_flight_scene *s, uint32_t place, int64_t sequence, int64_t rank);

/* The same of all members, by rank; NULL and !s->has_memory: out of memory. */
hu_flight_place *hu_flight_look_at_all(hu_flight_scene *s, uint32_t place, int64_t sequence);

/* Blames the members of this role, and nobody else; how many they are. */
size_t hu_flight_blame(hu_flight_answer *out, hu_flight_place *places, hu_flight_role role);

/* Who entered last, and how long after the one before. */
void hu_flight_find_last(hu_flight_answer *out);

#endif
