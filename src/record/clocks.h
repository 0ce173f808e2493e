/* SPDX-License-Identifier: Apache-2.0
 * clocks.h - ticks: which clock the session counts in, how fast it runs, and snapshots that map it to the others. */
#ifndef HU_RECORD_CLOCKS_H
#define HU_RECORD_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/format.h"

/* The TSC where the processor says that it is invariant and the kernel itself keeps time by it; else CLOCK_MONOTONIC. */
hu_clock hu_clocks_choose(void);

uint64_t hu_clocks_ticks(hu_clock clock);

/* All clocks at one instant, as far as a machine can: the closest of a few tries. */
hu_clock_snapshot hu_clocks_snapshot(hu_clock clock);

/* Ticks in a second, measured for some 5 ms between two snapshots; good to about 10 ppm.  Exact for CLOCK_MONOTONIC. */
double hu_clocks_calibrate(hu_clock clock);

#endif
