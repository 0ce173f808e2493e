/* SPDX-License-Identifier: Apache-2.0
 * collectives_place.h - what a rank tells the others of the place that it got. */
#ifndef HU_DOCTOR_COLLECTIVES_PLACE_H
#define HU_DOCTOR_COLLECTIVES_PLACE_H

#include "doctor/collectives.h"

/* Of the calling process, on this machine, now. */
void hu_rank_place_of_this(hu_rank_place *out);

/* What the scheduler did with this thread since it began, seconds; NaN: the kernel does not tell. */
typedef struct {
    double ran, queued; /* on a processor; ready to run, without one */
} hu_turns;

hu_turns hu_turns_now(void);

/* The part of the time since `before` that it could run and did not; NaN unknown. */
double hu_queued_share(hu_turns before);

#endif
