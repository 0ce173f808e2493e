/* SPDX-License-Identifier: Apache-2.0
 * web_auth.h - users and passwords (basic authentication, RFC 7617), without letting anybody spend our time.
 *
 * A hash of bcrypt costs a tenth of a second.  One thread computes them, one at a time, and few wait; a pair of user and
 * password that was right is remembered by a digest, so that each scrape after the first one costs nothing.
 */
#ifndef HU_MONITOR_SERVE_WEB_AUTH_H
#define HU_MONITOR_SERVE_WEB_AUTH_H

#include "monitor/serve/web_config.h"

typedef struct hu_web_auth hu_web_auth;

typedef enum { HU_AUTH_UNKNOWN, HU_AUTH_YES, HU_AUTH_NO, HU_AUTH_BUSY } hu_auth_verdict;

/* A question that waits for its answer; in the memory of whoever asks. */
typedef struct {
    _Atomic int verdict;             /* hu_auth_verdict */
    void (*answered)(void *context); /* from the thread that computes, once; it must not call what is below */
    void *context;
} hu_auth_question;

/* NULL: no memory. */
hu_web_auth *hu_web_auth_new(hu_error *err);

/*
 * Is `header` (the value of Authorization; NULL: there is none) that of a user of `c`?  UNKNOWN: somebody has to compute it.
 * Without users, everybody is.
 */
hu_auth_verdict hu_web_auth_try(hu_web_auth *a, const hu_web_config *c, const char *header);

/* Has it computed; q->answered will be called.  False: too many wait (BUSY). */
bool hu_web_auth_ask(hu_web_auth *a, hu_web_config *c, const char *header, hu_auth_question *q);

/* Withdraws all questions: the answer of each is BUSY, and answered() is called now. */
void hu_web_auth_forget(hu_web_auth *a);

/* There are no questions any more.  A hash that is still being computed is left alone, and its memory with it. */
void hu_web_auth_free(hu_web_auth *a);

#endif
