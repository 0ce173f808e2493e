/* SPDX-License-Identifier: Apache-2.0
 * imbalance.h - the finding "load-imbalance": threads of OpenMP have unequal work and wait for the one with most. */
#ifndef HU_ADVISE_IMBALANCE_H
#define HU_ADVISE_IMBALANCE_H

#include "advise/findings.h"

/*
 * Where OpenMP itself told of its regions (OMPT), see uneven_teams.h.  Else threads are known by CPU samples, and no replay
 * prices it, because how they wait for each other is not recorded: the gain is that of the same work in equal parts, on as
 * many CPUs as the job may use.  False: there is no team, it works evenly, or there is no memory.
 */
bool hu_imbalance_find(hu_simulation *s, const hu_findings *f, hu_finding *out);

#endif
