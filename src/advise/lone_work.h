/* SPDX-License-Identifier: Apache-2.0
 * lone_work.h - what a thread or child would save that computes alone while the job waits for it. */
#ifndef HU_ADVISE_LONE_WORK_H
#define HU_ADVISE_LONE_WORK_H

#include "advise/findings.h"

/*
 * Says in *h what half of its computing would save, and all of it: the realistic and the free form of `kind`.  Call it
 * behind hu_hint_say; *h is of lone work from then on.
 */
void hu_lone_work_say(const hu_scene *c, hu_edit_kind kind, hu_hint *h);

/* The interval of such a finding: from half of the computing to none.  One that is too wide for a price leaves a bound. */
void hu_lone_work_limit(hu_finding *x);

/* Is there only a bound, because how much less it could compute is in no recording? */
bool hu_lone_work_is_bound(const hu_finding *x);

#endif
