/* SPDX-License-Identifier: Apache-2.0
 * keeper.h - starts the samplers, keeps what they measured last, and knows what of it still holds.
 *
 * A source's readings hold for two of its fast periods.  After that all of them are gone: what cannot be measured now is
 * absent, not as it was.  A sampler that ends is started again, later and later; one that is stuck in a call is killed, and
 * not replaced before it has died.  The source that it was asking is left out for a while, so that the others of its
 * sampler come back.
 */
#ifndef HU_MONITOR_KEEPER_H
#define HU_MONITOR_KEEPER_H

#include <signal.h>

#include "monitor/sampler.h"

typedef struct hu_keeper hu_keeper;

/* NULL on failure, with the reason in err. */
hu_keeper *hu_keeper_start(const hu_source_options *options, hu_error *err);

/* Takes what samplers sent, for at most `ms`, and looks after them.  Signals of `mask` are let in meanwhile only (ppoll(2);
   NULL: as they are).  Call it all the time, from one thread. */
void hu_keeper_turn(hu_keeper *k, int ms, const sigset_t *mask);

/* Ends the samplers; does not wait for one that cannot die.  NULL is fine. */
void hu_keeper_stop(hu_keeper *k);

/* Have all sources been asked in all groups `times` times, or is a sampler stuck?  For a look that is the only one. */
bool hu_keeper_has_looked(hu_keeper *k, unsigned times);

/* Readings that hold now, and whose they are. */
typedef struct {
    const hu_readings *readings;
    const char        *source;
} hu_held;

/* Calls on_sample(context, held) for each look of a source from now on, in the thread of hu_keeper_turn, which it must not
   hold up. */
void hu_keeper_listen(hu_keeper *k, void (*on_sample)(void *context, const hu_held *held), void *context);

/* What is wrong with a part of the monitor itself, such as "textfile", until it is said otherwise; NULL: nothing. */
void hu_keeper_problem(hu_keeper *k, const char *part, const char *what, const char *fix);

/*
 * Calls take(context, held, n) once with all that holds now, in the order of sources and groups, and last the monitor's own.
 * Any thread may call it; what it hands out is valid during the call.
 */
void hu_keeper_read(hu_keeper *k, void (*take)(void *context, const hu_held *held, size_t n), void *context);

/* A number that changes whenever what hu_keeper_read hands out does. */
uint64_t hu_keeper_version(hu_keeper *k);

#endif
