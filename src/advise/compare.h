/* SPDX-License-Identifier: Apache-2.0
 * compare.h - what several ranks show together: the finding "straggler". */
#ifndef HU_ADVISE_COMPARE_H
#define HU_ADVISE_COMPARE_H

#include "advise/joint_replay.h"
#include "advise/late_causes.h"

/*
 * Adds it to the findings of the rank with the longest steps.  `all` and `digests` have `n` entries; entries of `all` may be
 * NULL; `r`, `s` and `job` are of the same ranks.  Its gain is what the replay of all ranks together says; without one it
 * is guessed from what they wait.
 */
void hu_findings_compare(hu_findings *const *all, hu_digest *const *digests, size_t n, size_t slowest,
                         const hu_rendezvous *r, const hu_stragglers *s, const hu_joint_replay *job);

#endif
