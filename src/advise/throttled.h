/* SPDX-License-Identifier: Apache-2.0
 * throttled.h - the finding "throttling" where the driver itself told that it lowered a GPU's clock. */
#ifndef HU_ADVISE_THROTTLED_H
#define HU_ADVISE_THROTTLED_H

#include "advise/findings.h"

/* The GPU of the recording whose clock was lowered for the longest part of its busy time, if that is enough; NULL none. */
const hu_gpu_clock *hu_throttled_worst(const hu_digest *d);

/* Adds what the driver told of that GPU to the evidence of a hint. */
void hu_throttled_show(const hu_gpu_clock *c, hu_hint *h);

/*
 * How much a higher clock would gain is in no counter: kernels that wait for memory or for the host do not get faster by it.
 * So the finding has no gain, and an interval from nothing to the time that all of that work would save at the highest
 * clock.
 * False: no clock was lowered for long, or the steps themselves say it already (`others`).
 */
bool hu_throttled_find(const hu_digest *d, const hu_findings *others, hu_finding *out);

#endif
