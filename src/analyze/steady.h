/* SPDX-License-Identifier: Apache-2.0
 * steady.h - how long a step takes: the period of the steady state, one step apart.
 *
 * The host marks steps; the GPU ends them later, by what it has yet to run.  A step is therefore measured twice, from
 * one end of the same kind to the next: by its host marks, and by its ends, the later of the mark and the last GPU work
 * launched in the step.  A backlog that stays as it is cancels in both.  Ends are the period: where the backlog grows
 * the GPU is the limit, where it comes and goes they are the steadier of the two, and where there is none the marks are
 * the ends.  Only a backlog that is worked off for good, left by something before these steps, makes marks the period;
 * and of a single step, of which nothing of this is known, the longer of the two counts.
 */
#ifndef HU_ANALYZE_STEADY_H
#define HU_ANALYZE_STEADY_H

#include "analyze/steps.h"

/*
 * Sets `marks`, `ends` and `is_first` of steps in order, whose `work` is known;
 * `before_ns` is the last end of GPU work launched before all of them, INT64_MIN without.
 */
void hu_steady_measure(hu_step *at, size_t n, int64_t before_ns);

/* Chooses the period of each of these steps, and says how it came about. */
void hu_steady_choose(hu_step *at, size_t n, hu_steady *out);

#endif
