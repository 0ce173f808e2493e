/* SPDX-License-Identifier: Apache-2.0
 * covered.h - findings of a window that is not all of the run, as findings of the run. */
#ifndef HU_ADVISE_COVERED_H
#define HU_ADVISE_COVERED_H

#include "advise/findings.h"

/*
 * A replay of the beginning of a run (hu_graph.covered < 1) has seen gains of that part only: points and low ends become
 * those of the whole run if the rest gains nothing, and each interval still reaches to where the rest gains as much.
 */
void hu_covered_spread(hu_findings *f, double covered);

#endif
