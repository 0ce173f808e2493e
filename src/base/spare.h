/* SPDX-License-Identifier: Apache-2.0
 * spare.h - page maps that arenas gave back, for the arenas of the next piece of work.
 *
 * A page that is touched for the first time costs the system more than most reports do with it: a rank of 50,000 events,
 * read into the maps of the one before, takes a tenth less CPU time.
 */
#ifndef HU_BASE_SPARE_H
#define HU_BASE_SPARE_H

#include <stdbool.h>
#include <stddef.h>

/* From now on maps are kept, `most_bytes` of them at most; until hu_spare_end, which gives them to the system.  Pairs may
   nest and overlap, from any thread; the first limit counts. */
void hu_spare_begin(size_t most_bytes);
void hu_spare_end(void);

/* A map of *bytes or up to 16 times as many, which *bytes then says, with what somebody wrote into it; NULL: there is
   none. */
void *hu_spare_take(size_t *bytes);

/* False: it is not kept, and stays with the caller. */
bool hu_spare_give(void *map, size_t bytes);

/* Gives the system what malloc still holds of pieces that were freed; not so while maps are kept, when they serve again. */
void hu_spare_trim(void);

#endif
