/* SPDX-License-Identifier: Apache-2.0
 * identity.h - which process a datagram speaks of, whether its sender may, and whose job it is. */
#ifndef HU_MONITOR_LIVE_IDENTITY_H
#define HU_MONITOR_LIVE_IDENTITY_H

#include <sys/types.h>

#include "monitor/jobs/job_process.h"
#include "monitor/live/message.h"

/* Who sent it, as the kernel says, in our own namespaces. */
typedef struct {
    uint32_t pid;
    int64_t  uid;
} hu_live_sender;

/* Who it speaks of. */
typedef struct {
    uint32_t pid;          /* in our own namespace */
    int64_t  uid;          /* its real user */
    uint64_t group;        /* of processes: its leader */
    bool     is_own_group; /* a group of the kernel says which job it is in, so that nobody can claim it */
    hu_owner owner;
} hu_live_who;

typedef struct hu_live_identity hu_live_identity;

/* `root` is in front of /proc and outlives it.  NULL: no memory. */
hu_live_identity *hu_live_identity_new(const char *root);
void              hu_live_identity_free(hu_live_identity *i); /* NULL is fine */

/*
 * Asks /proc.  A process is the one that has the number and began when the datagram says; a user may speak for his own
 * processes, root for all.  May take long: the names of users come from wherever this machine has them.
 * TAKEN, PROCESS, FOREIGN, or HASTY where too much was asked lately.
 */
hu_live_verdict hu_live_identify(hu_live_identity *i, const hu_live_sender *sender, const hu_live_datagram *d,
                                 int64_t now_ns, hu_live_who *out);

/* Names a job that nobody has named, or whose name is another user's: after the leader of its group of processes,
   which is what a shell starts as one job. */
void hu_live_name_alone(uint64_t group, hu_owner *o);

typedef enum { HU_LIVE_RUNS, HU_LIVE_STOPPED, HU_LIVE_GONE } hu_live_state;

/* The state of a process that began then; a zombie is gone. */
hu_live_state hu_live_state_of(const char *root, uint32_t pid, uint64_t began);

#endif
