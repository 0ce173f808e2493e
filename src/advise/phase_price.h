/* SPDX-License-Identifier: Apache-2.0
 * phase_price.h - what a fix saves of a serving engine's passes, by phase: means over prefill and decode describe
 * neither. */
#ifndef HU_ADVISE_PHASE_PRICE_H
#define HU_ADVISE_PHASE_PRICE_H

#include "advise/findings.h"

/*
 * Adds a sentence to the statement of a finding that an edit prices: which phase the gain is of, and its passes before and
 * after, with tokens/s where their names say how many tokens they generate.  Nothing of other jobs.
 */
void hu_phase_price_say(hu_simulation *s, const hu_digest *d, hu_finding *x);

#endif
