/* SPDX-License-Identifier: Apache-2.0
 * looks.h - sleeps between two looks at a child process. */
#ifndef HU_ADVISE_LOOKS_H
#define HU_ADVISE_LOOKS_H

#include "advise/gates.h"

/* Are such sleeps most of those that count? */
bool hu_looks_are_most(const hu_scene *c, hu_ns_per_step time);

#endif
