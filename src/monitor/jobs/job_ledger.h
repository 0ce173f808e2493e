/* SPDX-License-Identifier: Apache-2.0
 * job_ledger.h - for how long each job had a GPU and did nothing with it, and what it used: sums that a restart of the
 * sampler does not lose.
 *
 * It lies in memory that the samplers share; the jobs sampler alone writes it.
 */
#ifndef HU_MONITOR_JOBS_JOB_LEDGER_H
#define HU_MONITOR_JOBS_JOB_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

enum { HU_LEDGER_ROWS = 512, HU_LEDGER_UUID = 96, HU_LEDGER_JOBS = 256 };

typedef struct {
    char     uuid[HU_LEDGER_UUID]; /* "": a free row */
    uint64_t job;                  /* hash of scheduler, job and user */
    int64_t  seen_ns;              /* CLOCK_BOOTTIME when the job had the GPU last */
    int64_t  idle_ns;
    bool     is_measured; /* it was known at least once whether the GPU worked */
    double   joules;      /* of the GPU's counter at its last change, of job_energy.c as what follows; 0: not known */
    bool     has_change;  /* the job had it then, alone */
    int64_t  busy_ns;     /* since that change, in which it is not known to have been idle */
    double   waits;       /* the largest share of waiting since that change; 1 where it was not told */
} hu_ledger_row;

/* Energy of the GPUs that a job has on this node, and of its processors. */
typedef struct {
    uint64_t job;
    int64_t  seen_ns; /* CLOCK_BOOTTIME of the last look at one that tells; 0: a free row */
    double   all, idle, waited, cpu;
    bool     has_gpu, has_waited, has_cpu; /* waited: it has told how much it waits */
} hu_ledger_joules;

typedef struct {
    int64_t          at_ns; /* CLOCK_BOOTTIME of the look that was counted last */
    hu_ledger_row    row[HU_LEDGER_ROWS];
    hu_ledger_joules joules[HU_LEDGER_JOBS];
} hu_job_ledger;

/*
 * The row of a job on a GPU, made if there is none; NULL: all rows are of jobs that were there lately.  A job that has not
 * been seen for ten minutes has ended, and its sum with it.
 */
hu_ledger_row *hu_ledger_find(hu_job_ledger *l, const char *uuid, uint64_t job, int64_t now_ns);

#endif
