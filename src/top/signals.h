/* SPDX-License-Identifier: Apache-2.0
 * signals.h - what came in while the loop waited. */
#ifndef HU_TOP_SIGNALS_H
#define HU_TOP_SIGNALS_H

#include <poll.h>
#include <stdbool.h>

/* From now on signals come in while hu_top_signals_poll waits, and at no other time. */
void hu_top_signals_take(void);

/* poll(2) of at most `ms`; a signal ends it (less than 0). */
int hu_top_signals_poll(struct pollfd *p, unsigned n, int ms);

/* The signal that wants the end; 0: none did. */
int hu_top_signals_end(void);

/* Since it was last asked: the terminal has another size; somebody wants the program to stop (SIGTSTP). */
bool hu_top_signals_has_size(void);
bool hu_top_signals_has_stop(void);

/* Stops the process as SIGTSTP does, until SIGCONT. */
void hu_top_signals_stop(void);

#endif
