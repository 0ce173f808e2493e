/* SPDX-License-Identifier: Apache-2.0
 * uneven_teams.h - "load-imbalance" where OpenMP itself told how long each thread worked (OMPT). */
#ifndef HU_ADVISE_UNEVEN_TEAMS_H
#define HU_ADVISE_UNEVEN_TEAMS_H

#include "advise/findings.h"
#include "analyze/omp_regions.h"

/*
 * `main`: the track of the main thread.  The replay prices it (HU_EDIT_TEAMS): regions that nobody waits for gain nothing.
 * False: their work is equal, or what equal work would save is too little.
 */
bool hu_uneven_teams_find(hu_simulation *s, uint32_t main, const hu_omp_regions *r, const hu_findings *f, hu_finding *out);

#endif
