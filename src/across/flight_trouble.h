/* SPDX-License-Identifier: Apache-2.0
 * flight_trouble.h - where each group got stuck, and which group to begin with. */
#ifndef HU_ACROSS_FLIGHT_TROUBLE_H
#define HU_ACROSS_FLIGHT_TROUBLE_H

#include "across/flight_scene.h"

/* The first number of a group that waits, or that differs between any rank and the first that has it: sets stuck, newest,
 * differs, difference, which and since_ns. */
void hu_flight_find_trouble(hu_flight_scene *s, uint32_t place);

/* The group to begin with: one whose ranks differ, else one that waits; the one that did so first.  UINT32_MAX: none. */
uint32_t hu_flight_first_trouble(const hu_flight_scene *s);

/* From a group whose ranks wait to the one that the ranks they wait for are in; *is_cycle: they wait for each other. */
uint32_t hu_flight_follow(hu_flight_scene *s, uint32_t place, bool *is_cycle);

#endif
