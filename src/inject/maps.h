/* SPDX-License-Identifier: Apache-2.0
 * maps.h - what lies where in this process, in a file next to its ring: addresses in records mean nothing without it. */
#ifndef HU_INJECT_MAPS_H
#define HU_INJECT_MAPS_H

#include <stdint.h>

/* Copies /proc/self/maps into the session, in place of the copy before. */
void hu_maps_copy(void);

/* A record of `ticks` names the code at `address`.  Copies when the records whose code is in no copy yet are worth it. */
void hu_maps_want(uintptr_t address, uint64_t ticks);

void hu_maps_forked(void); /* in the child */

#endif
