/* SPDX-License-Identifier: Apache-2.0
 * loader.h - whether workers of a data loader would find CPUs to run on, for the gate alone. */
#ifndef HU_ADVISE_LOADER_H
#define HU_ADVISE_LOADER_H

#include "advise/gates.h"

/* Is it what the main thread calls the loader's part of a step? */
bool hu_loader_is_range(hu_str name);

/*
 * Says on the hint what stands against workers, and that they may gain nothing: no CPU is known to be free for them.
 * Nothing is said where the loader waits (it sleeps, reads files or a network), or CPUs are known.
 */
void hu_loader_doubt(const hu_scene *c, hu_hint *h, bool has_workers);

#endif
