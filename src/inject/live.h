/* SPDX-License-Identifier: Apache-2.0
 * live.h - counts steps and what holds them up into the head of the ring file, from where the supervisor tells a monitor.
 *
 * No system call but once in a process, no lock that waits: what finds the tally taken (a signal handler between two
 * instructions of it, a second thread that marks steps) is not counted.  Ask hu_live_on before.
 */
#ifndef HU_INJECT_LIVE_H
#define HU_INJECT_LIVE_H

#include "inject/ring.h"
#include "protocol/os_calls.h"

enum { HU_LIVE_NOTHING = 0 }; /* else causes are given as hu_live_cause + 1 */

/* Does a monitor want to know?  A load and a branch where none does. */
static inline bool hu_live_on(void)
{
    return hu_gate_open(HU_DOOR_LIVE);
}

/* Has this process marked a step or a count?  Until then nobody touches its tally's page. */
bool hu_live_tells(void);

/* This thread begins a step, and the one before ends; its causes count from now on. */
void hu_live_step(int64_t number);
void hu_live_step_end(bool is_none); /* is_none: what began was no step */

/* A range of this thread, until its pop: of a cause, or HU_LIVE_NOTHING: what it is in goes on. */
void hu_live_push(uint32_t cause);
void hu_live_pop(void);

/* What a range of this registered text is: some of PyTorch's own are causes.  `hu_live_named` takes its id. */
uint32_t hu_live_named(uint32_t id);
void     hu_live_name(const char *text, uint32_t id);

/* From now on this process sees these causes, bits, even if there are none; or cannot see them. */
void hu_live_measures(uint32_t causes);
void hu_live_hides(uint32_t causes);
void hu_live_shows(uint32_t causes); /* again */

/* `n` more samples or tokens (holdup_countable); the sum. */
uint64_t hu_live_count(uint32_t what, uint64_t n);

/* A call of this thread that waits for others, or for the device, begins and ends.  Calls inside of it are it. */
void hu_live_enter(hu_live_cause cause);
void hu_live_leave(void);

/* A wait for a condition begins (`row`: a hu_os_call), and ends.  False: it is nothing to us, and has no end. */
bool hu_live_waits(uint32_t row);
void hu_live_waited(void);

void hu_live_thread_ends(void);
void hu_live_forked(void); /* in the child */

#endif
