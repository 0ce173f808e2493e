/* SPDX-License-Identifier: Apache-2.0
 * collectives_watch.h - ends a measurement in which a rank hangs, and says which. */
#ifndef HU_DOCTOR_COLLECTIVES_WATCH_H
#define HU_DOCTOR_COLLECTIVES_WATCH_H

#include "doctor/collectives.h"

/* Starts the watch of this rank.  `places` of all `size` ranks stay until hu_watch_end. */
void hu_watch_begin(int rank, int size, const hu_rank_place *places, double patience_s);

/* What this rank does now, and how much longer than one call it may take; NULL: it may wait for its turn. */
void hu_watch_step(const char *what, int64_t bytes, double more_s);

/* A call returned. */
void hu_watch_tick(void);

void hu_watch_end(void);

#endif
