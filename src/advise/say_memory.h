/* SPDX-License-Identifier: Apache-2.0
 * say_memory.h - the answer of a capture that has allocations and nothing else, as memory snapshots have. */
#ifndef HU_ADVISE_SAY_MEMORY_H
#define HU_ADVISE_SAY_MEMORY_H

#include "analyze/digest.h"

/* Is memory all that was captured? */
bool hu_is_memory_only(const hu_digest *d);

/* Of several snapshots the one to speak of: in which an allocation failed, else the last. */
size_t hu_memory_shown(hu_digest *const *digests, size_t n);

/* Why an allocation failed, of a capture in which one did; "" of others. */
void hu_say_memory_failure(const hu_digest *d, char *out, size_t room);

/* The peak, who holds it, why an allocation failed, and what free memory is in pieces. */
void hu_say_memory(const hu_digest *d, char *out, size_t room);

#endif
