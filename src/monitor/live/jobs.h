/* SPDX-License-Identifier: Apache-2.0
 * jobs.h - processes of the table, job by job: what is said of each. */
#ifndef HU_MONITOR_LIVE_JOBS_H
#define HU_MONITOR_LIVE_JOBS_H

#include "monitor/job_waits.h"
#include "monitor/live/identity.h"
#include "monitor/live/shares.h"
#include "monitor/readings.h"

typedef struct hu_live_job hu_live_job;

struct hu_live_job {
    hu_live_job *next;
    char         scheduler[HU_OWNER_NUMBER], job_id[HU_OWNER_ID], step_id[HU_OWNER_NUMBER], user[HU_OWNER_TEXT];
    int64_t      uid; /* -1: any, for a group of the kernel says what is in the job */
    size_t       n_rows;
    uint64_t     lost;
    int64_t      lived_ns; /* CLOCK_BOOTTIME: when a process of it was alive last */
};

/* A process. */
typedef struct hu_live_row hu_live_row;

struct hu_live_row {
    hu_live_row     *next; /* of its bucket */
    hu_live_job     *job;
    uint32_t         sender, pid; /* in our own namespace */
    int64_t          uid, heard_ns;
    hu_live_datagram last;
    int64_t          number; /* of the last step that was told of; -1: none */
    hu_live_history  history;
    int64_t          stopped_ns; /* when it was seen stopped first; 0: it runs */
    bool             has_stepped, is_stopped, is_silent, is_lost;
};

/*
 * The job of a process, made if it is new.  Two users are never of one job, whatever their processes say: who comes later is
 * named after its group of processes.  NULL: no memory.
 */
hu_live_job *hu_live_job_find(hu_live_job **jobs, const hu_live_who *who, bool no_users);

/* Forgets jobs without processes. */
void hu_live_jobs_tidy(hu_live_job **jobs);

/* Puts all of them; the rows are sorted on the way.  `members` is room for as many; `waits` may be NULL. */
void hu_live_jobs_put(hu_live_row **rows, size_t n, hu_live_member *members, bool no_users, int64_t now_ns, int64_t real_ns,
                      hu_job_waits *waits, hu_readings *out);

#endif
