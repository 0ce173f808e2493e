/* SPDX-License-Identifier: Apache-2.0
 * keeper.h - starts the samplers, keeps what they measured last, and knows what of it still holds.
 *
 * A source's readings hold for two of its fast periods.  After that all of them are gone: what cannot be measured now is
 * absent, not as it was.  A sampler that ends is started again, later and later; one that is stuck in a call is killed, and
 * not replaced before it has died.
 */
#ifndef HU_MONITOR_KEEPER_H
#define HU_MONITOR_KEEPER_H

#include "monitor/sampler.h"

typedef struct hu_keeper hu_keeper;

/* NULL on failure, with the reason in err. */
hu_keeper *hu_keeper_start(const hu_source_options *options, hu_error *err);

/* Takes what samplers have sent, for at most `ms`, and looks after them.  Call it all the time. */
void hu_keeper_turn(hu_keeper *k, int ms);

/* Ends the samplers; does not wait for one that cannot die.  NULL is fine. */
void hu_keeper_stop(hu_keeper *k);

/* Have all sources been asked in all groups `times` times, or is a sampler stuck?  For a look that is the only one. */
bool hu_keeper_has_looked(hu_keeper *k, unsigned times);

/* Readings that hold now, and whose they are. */
typedef struct {
    const hu_readings *readings;
    const char        *source;
} hu_held;

/*
 * Calls take(context, held, n) once with all that holds now, in the order of sources and groups, and last the monitor's own.
 * Any thread may call it; what it hands out is valid during the call.
 */
void hu_keeper_read(hu_keeper *k, void (*take)(void *context, const hu_held *held, size_t n), void *context);

/* A number that changes whenever what hu_keeper_read hands out does. */
uint64_t hu_keeper_version(hu_keeper *k);

#endif
