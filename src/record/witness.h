/* SPDX-License-Identifier: Apache-2.0
 * witness.h - was a signal sent to this process alone, or to its whole group?  Then the command has it already.
 *
 * Nothing tells a receiver.  So a second process, which does nothing, stands in the same group with all signals blocked:
 * what is pending there was sent to everybody.  It is gone when the supervisor is, whatever happens to that.
 */
#ifndef HU_RECORD_WITNESS_H
#define HU_RECORD_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    pid_t pid; /* 0: there is none, and nobody is believed to have seen anything */
} hu_witness;

void hu_witness_start(hu_witness *witness);

/* Waits for some milliseconds: whoever signals many processes does so one by one.  Forgets what was seen. */
bool hu_witness_saw(hu_witness *witness, int signal);

void hu_witness_end(hu_witness *witness);

#endif
