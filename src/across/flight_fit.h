/* SPDX-License-Identifier: Apache-2.0
 * flight_fit.h - do two calls of one number fit? */
#ifndef HU_ACROSS_FLIGHT_FIT_H
#define HU_ACROSS_FLIGHT_FIT_H

#include "across/flight.h"

/* In what two calls of one number differ; HU_FLIGHT_NOTHING: they fit. */
hu_flight_cause hu_flight_compare(const hu_flight_entry *a, const hu_flight_entry *b);

/* Is it sure to end on no rank before all have entered it? */
bool hu_flight_needs_all(const hu_flight_entry *e);

/* Do they fit and come from the same place of the program, as far as stacks were recorded? */
bool hu_flight_is_same_call(const hu_flight_entry *a, const hu_flight_entry *b);

#endif
