/* SPDX-License-Identifier: Apache-2.0
 * slurm_groups.h - jobs of SLURM on this node, as slurmd's control groups show them.
 *
 * Which GPUs a job has stands in the group itself with version 1 (devices.list); version 2 keeps it in a program of the
 * kernel that cannot be read, so a process of the job is asked for SLURM_JOB_GPUS.
 */
#ifndef HU_MONITOR_JOBS_SLURM_GROUPS_H
#define HU_MONITOR_JOBS_SLURM_GROUPS_H

#include "monitor/jobs/allocations.h"
#include "monitor/jobs/job_process.h"

enum { HU_SLURM_JOBS = 512 };

typedef struct {
    uint64_t id;
    bool     is_live;    /* its group was there at the last look */
    bool     is_known;   /* its GPUs are in the list */
    unsigned tries;      /* how often they were asked for since its group has changed */
    int64_t  changed_ns; /* of its group: a step more changes it */
    int64_t  gone_s;     /* Unix time when its group was missed first */
    uint64_t seen;       /* number of the look */
} hu_slurm_job;

typedef struct {
    bool           is_there;   /* slurmd has groups here */
    bool           has_extern; /* it makes one for each allocation, before any step (PrologFlags=Contain) */
    uint64_t       look;
    size_t         n;
    hu_slurm_job   job[HU_SLURM_JOBS];
    hu_allocations list; /* of the jobs whose GPUs are known */
} hu_slurm_groups;

/* Looks at all jobs; asks processes only of those that are new or have another step. */
void hu_slurm_look(hu_slurm_groups *s, const char *root, hu_processes *processes);

/*
 * Has a job ended?  `written_s` is the Unix time of what names it.  True where its group was seen and has gone since
 * then, or where jobs have groups from their start, and it has none long after that time.  False: it lives, or nobody
 * can tell.
 */
bool hu_slurm_has_ended(const hu_slurm_groups *s, hu_str job_id, int64_t written_s);

void hu_slurm_free(hu_slurm_groups *s);

#endif
