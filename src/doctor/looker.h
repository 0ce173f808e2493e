/* SPDX-License-Identifier: Apache-2.0
 * looker.h - the process in which checks look: a call that hangs (NFS, a driver) or crashes costs one check, not the answer.
 *
 * The process shares no descriptor with the caller but one socket, so that nobody who reads the caller's output waits for it
 * if it cannot be killed.
 */
#ifndef HU_DOCTOR_LOOKER_H
#define HU_DOCTOR_LOOKER_H

#include "doctor/diagnosis.h"

/* What the looks said, as it comes in; texts are borrowed for the call, and NULL where there was none. */
typedef struct {
    void (*answer)(void *context, size_t check, hu_verdict_of_check verdict, const char *subject, const char *fix,
                   const char *text);
    void (*value)(void *context, const char *key, const char *value);
    void (*about)(void *context, const char *host, const char *time);
    void *context;
} hu_looker_ears;

/* Asks all `n` checks in their order; each one has an answer afterwards. */
void hu_looker_ask(const hu_doctor_how *how, const hu_check *const *checks, size_t n, const hu_looker_ears *ears);

/* -- inside of that process (look.c) ---------------------------------------------------------------------------------- */

/* NULL: no memory, or no such root. */
hu_doctor *hu_doctor_open(const hu_doctor_how *how, int socket);

/* For facts.c: what was seen, told to the witness. */
void hu_doctor_saw(hu_doctor *d, hu_seen kind, const char *name, hu_look how, hu_str bytes);

/* What is asked next, and may not return: part of the reason if it does not.  NULL: it returned. */
void hu_doctor_begin_call(hu_doctor *d, const char *what);

#endif
