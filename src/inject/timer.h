/* SPDX-License-Identifier: Apache-2.0
 * timer.h - CPU samples from inside of the program, for machines where perf_event_open is refused. */
#ifndef HU_INJECT_TIMER_H
#define HU_INJECT_TIMER_H

/* Begins when hu_control.sample_hz asks for it; once the process is attached. */
void hu_timer_begin(void);

/* In a forked child, which has none of its parent's timers. */
void hu_timer_forked(void);

/* Samples no more; records what lies where a last time. */
void hu_timer_end(void);

#endif
