/* SPDX-License-Identifier: Apache-2.0
 * gates_locks.h - a lock whose address was recorded. */
#ifndef HU_ADVISE_GATES_LOCKS_H
#define HU_ADVISE_GATES_LOCKS_H

#include "advise/gates.h"

/*
 * Says which lock of the main process threads wait for, and who holds it; not of the GIL, which has its own rule.
 * *is_known: the recording tells; false: that it is not worth it, or not known.
 */
bool hu_scene_say_lock(const hu_scene *c, hu_hint *h, bool *is_known);

#endif
