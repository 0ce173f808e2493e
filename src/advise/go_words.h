/* SPDX-License-Identifier: Apache-2.0
 * go_words.h - what is said of a program in Go, whose threads are not what its goroutines do. */
#ifndef HU_ADVISE_GO_WORDS_H
#define HU_ADVISE_GO_WORDS_H

#include "advise/findings.h"

/* Is the main process one, without a device? */
bool hu_go_is_program(const hu_digest *d);

/* What the main thread of another one does while it waits, behind "it". */
extern const char hu_go_wait_words[];

/* Does the main process wait for a child that is one, and waits? */
bool hu_go_is_child_waiting(const hu_digest *d);

/* Is no thread of it running for a part of its life that is worth naming? */
bool hu_go_is_waiting(const hu_digest *d);

/* Appends: for how long no thread of it runs, and how to find out why; "" where they do.  Then who enters the kernel. */
void hu_go_say(const hu_digest *d, char *out, size_t room);

/* Findings price the main thread, which is not where the program's work is done one after the other: guesses. */
void hu_go_doubt(hu_findings *f, const hu_digest *d);

#endif
