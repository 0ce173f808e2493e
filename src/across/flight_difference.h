/* SPDX-License-Identifier: Apache-2.0
 * flight_difference.h - ranks called different things under one number. */
#ifndef HU_ACROSS_FLIGHT_DIFFERENCE_H
#define HU_ACROSS_FLIGHT_DIFFERENCE_H

#include "across/flight_scene.h"

/* Blames who differs from most in group `place`; without memory *out stays as it is and s->has_memory is false. */
void hu_flight_answer_difference(hu_flight_scene *s, uint32_t place, hu_flight_answer *out);

#endif
