/* SPDX-License-Identifier: Apache-2.0
 * job_waits.h - how much of its step time each job waits now, told by the live sampler to the jobs sampler.
 *
 * It lies in memory that the samplers share; the live sampler alone writes it, at each of its looks.
 */
#ifndef HU_MONITOR_JOB_WAITS_H
#define HU_MONITOR_JOB_WAITS_H

#include <stdbool.h>
#include <stdint.h>

enum { HU_JOB_WAITS = 256 };

typedef struct {
    uint64_t job; /* hu_owner_hash */
    double   share;
} hu_job_wait;

typedef struct {
    _Atomic uint32_t sequence; /* odd while it is written */
    uint32_t         n;
    int64_t          at_ns; /* CLOCK_BOOTTIME of the look */
    hu_job_wait      row[HU_JOB_WAITS];
} hu_job_waits;

/* Begins a look at that time: nothing is known of any job.  Between begin and end nobody reads. */
void hu_job_waits_begin(hu_job_waits *w, int64_t now_ns);

/* The greater of this and what was put of the job already: it has several steps of its scheduler. */
void hu_job_waits_put(hu_job_waits *w, uint64_t job, double share);
void hu_job_waits_end(hu_job_waits *w);

/* What was put; false: the look is not younger than `since_ns`, or is being written all the time. */
bool hu_job_waits_read(hu_job_waits *w, int64_t since_ns, hu_job_wait out[HU_JOB_WAITS], uint32_t *n);

#endif
