/* SPDX-License-Identifier: Apache-2.0
 * table.h - the processes that tell of their steps, and the jobs that they are of. */
#ifndef HU_MONITOR_LIVE_TABLE_H
#define HU_MONITOR_LIVE_TABLE_H

#include "monitor/live/identity.h"
#include "monitor/job_waits.h"
#include "monitor/readings.h"

enum { HU_LIVE_PROCESSES = 4096, HU_LIVE_OF_USER = 512 };

typedef struct hu_live_table hu_live_table;

/* Asks whether a process still lives. */
typedef hu_live_state hu_live_ask(void *context, uint32_t pid, uint64_t began);

/* `no_users`: neither users nor names of programs are put.  NULL: no memory. */
hu_live_table *hu_live_table_new(bool no_users, hu_live_ask *ask, void *context);
void           hu_live_table_free(hu_live_table *t); /* NULL is fine */

/*
 * Takes a datagram of a process that the table knows by this sender, and says what became of it.  False: it does not know
 * it; ask who it is (hu_live_identify), then add it.  Times are of CLOCK_BOOTTIME, but in the datagram.
 */
bool hu_live_table_take(hu_live_table *t, const hu_live_sender *sender, const hu_live_datagram *d, int64_t now_ns,
                        hu_live_verdict *out);

/* Takes the first datagram of a process. */
hu_live_verdict hu_live_table_add(hu_live_table *t, const hu_live_sender *sender, const hu_live_who *who,
                                  const hu_live_datagram *d, int64_t now_ns);

/* Counts a datagram that never reached the table, or one that did. */
void hu_live_table_count(hu_live_table *t, hu_live_verdict verdict);

/* Sees who has died, and forgets jobs that have ended. */
void hu_live_table_look(hu_live_table *t, int64_t now_ns);

/* All that is known now, as metrics_live.h has it; real_ns is CLOCK_REALTIME; `waits` may be NULL. */
void hu_live_table_put(hu_live_table *t, int64_t now_ns, int64_t real_ns, hu_job_waits *waits, hu_readings *out);

#endif
