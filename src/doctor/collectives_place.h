/* SPDX-License-Identifier: Apache-2.0
 * collectives_place.h - what a rank tells the others of the place that it got. */
#ifndef HU_DOCTOR_COLLECTIVES_PLACE_H
#define HU_DOCTOR_COLLECTIVES_PLACE_H

#include "doctor/collectives.h"

/* Of the calling process, on this machine, now. */
void hu_rank_place_of_this(hu_rank_place *out);

/* Seconds since it began that this thread was ready to run and waited for a processor; NaN: the kernel does not tell. */
double hu_queued_seconds(void);

#endif
