/* SPDX-License-Identifier: Apache-2.0
 * cold_start.h - the finding "cold-start" of a first step that does not count, because it was so much longer. */
#ifndef HU_ADVISE_COLD_START_H
#define HU_ADVISE_COLD_START_H

#include "advise/findings.h"

/*
 * A first step that is left out as warm-up is in no replay, so its price is that of the capture: what loading code, making
 * the device ready and first allocations took of all steps.  False when the step counts, or its records do not explain at
 * least half of what it takes longer than the others.
 */
bool hu_cold_start_find(hu_simulation *s, hu_finding *out);

#endif
