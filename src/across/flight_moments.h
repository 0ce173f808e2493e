/* SPDX-License-Identifier: Apache-2.0
 * flight_moments.h - were the dumps taken at one moment, and long enough after the calls that wait? */
#ifndef HU_ACROSS_FLIGHT_MOMENTS_H
#define HU_ACROSS_FLIGHT_MOMENTS_H

#include "across/flight_scene.h"

/* Sets s->is_behind of dumps that end before calls which others ended and which need all ranks.  How many they are. */
size_t hu_flight_find_behind(hu_flight_scene *s);

/* Where dumps are behind: what the others ended without them.  Without memory s->has_memory is false. */
void hu_flight_answer_moments(hu_flight_scene *s, hu_flight_answer *out);

/* Takes back an accusation where calls had not waited longer than the job pauses anyway.  Sets waited_ns and pause_ns. */
void hu_flight_doubt_young(const hu_flight_scene *s, hu_flight_answer *out);

#endif
