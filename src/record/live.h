/* SPDX-License-Identifier: Apache-2.0
 * live.h - tells the monitors of this node how the processes of a run do (protocol/live.h says in which words). */
#ifndef HU_RECORD_LIVE_H
#define HU_RECORD_LIVE_H

#include "record/collect.h"
#include "record/facts.h"
#include "record/session.h"

typedef struct hu_live hu_live;

/*
 * `where` is HU_LIVE_VARIABLE as the command gets it, NULL where it is not set; `user_folder` XDG_RUNTIME_DIR, or NULL.
 * Where a socket is named, or one is there, the programs count from their beginning.  Both `session` and `facts` outlive
 * what is returned.  NULL: nobody is to be told (*err is set if that is not what was wanted: HU_EUSAGE, HU_EIO).
 */
hu_live *hu_live_start(const hu_session *session, const hu_facts *facts, const char *where, const char *user_folder,
                       hu_error *err);

/* Every 500 ms a datagram for each process that has marked something; looks for sockets once a second.  NULL is fine. */
void hu_live_round(hu_live *live, const hu_collector *collector);

/* hu_collect_options.ended; `live` is the context. */
void hu_live_ended(void *live, const hu_ring_head *head, pid_t pid);

/* Tells what is still to be told, for 100 ms at most, and frees.  NULL is fine. */
void hu_live_stop(hu_live *live);

#endif
