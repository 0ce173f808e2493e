/* SPDX-License-Identifier: Apache-2.0
 * broker.h - serves a session's files to processes of the job that cannot open them (protocol/broker.h). */
#ifndef HU_RECORD_BROKER_H
#define HU_RECORD_BROKER_H

#include <stdint.h>
#include <sys/types.h>

typedef struct hu_broker hu_broker;

/* A thread that serves descendants of `command`, and it.  NULL: it cannot be; the session works without. */
hu_broker *hu_broker_start(const char *session, pid_t command);

/* NULL is fine. */
void hu_broker_stop(hu_broker *broker);

#endif
