/* SPDX-License-Identifier: Apache-2.0
 * ladder.h - fixes applied in order. */
#ifndef HU_ADVISE_LADDER_H
#define HU_ADVISE_LADDER_H

#include "advise/findings.h"
#include "graph/pricers.h"

/* Fills the ladder of the findings, and what binds behind its last rung.  No rung saves less than `least_pct` of the step.
   Returns 0 or HU_ENOMEM. */
int hu_ladder_climb(hu_findings *f, hu_simulation *s, hu_pricers *pricers, double least_pct, hu_error *err);

#endif
