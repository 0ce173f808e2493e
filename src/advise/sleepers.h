/* SPDX-License-Identifier: Apache-2.0
 * sleepers.h - sleeps of other threads than the main one, which waits for them. */
#ifndef HU_ADVISE_SLEEPERS_H
#define HU_ADVISE_SLEEPERS_H

#include "advise/gates.h"

/* The interval of `sleep` where others sleep: from half of the sleeping on.  Says so in *h. */
void hu_sleepers_doubt(const hu_scene *c, hu_hint *h, hu_price *p);

#endif
