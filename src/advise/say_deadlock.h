/* SPDX-License-Identifier: Apache-2.0
 * say_deadlock.h - threads that wait for each other's locks, in a sentence. */
#ifndef HU_ADVISE_SAY_DEADLOCK_H
#define HU_ADVISE_SAY_DEADLOCK_H

#include "analyze/deadlock.h"

void hu_say_deadlock(const hu_deadlock *d, char *out, size_t room);

#endif
