/* SPDX-License-Identifier: Apache-2.0
 * small_pool.h - the finding "small-pool": the main thread waits for threads that all wait for the network. */
#ifndef HU_ADVISE_SMALL_POOL_H
#define HU_ADVISE_SMALL_POOL_H

#include "advise/findings.h"

/*
 * Adds it, and drops `io-stall` where that tells the same waits.  No edit prices it: the gain is that of twice as many
 * requests at a time, whose waits overlap; what the other end then does is not recorded, so the interval begins at nothing.
 */
void hu_small_pool_add(hu_simulation *s, hu_findings *f);

#endif
