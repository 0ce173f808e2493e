/* SPDX-License-Identifier: Apache-2.0
 * job_energy.h - energy of what one job has alone: sums that lie in the ledger, so that no restart loses them.
 *
 * A counter of energy is read every few looks and is the whole board's: what it rose by is a job's where the job had the
 * board alone from one of its changes to the next.  Of a stretch that was not idle all the time, the job used no more while
 * it waited than the share of its waiting, since a GPU draws no more then than in the mean.  What was used before the first
 * change that was seen, behind the last, and while the GPU was shared is nobody's.
 */
#ifndef HU_MONITOR_JOBS_JOB_ENERGY_H
#define HU_MONITOR_JOBS_JOB_ENERGY_H

#include "monitor/jobs/job_ledger.h"

/* A look at a GPU that a job has. */
typedef struct {
    double  joules;   /* of its counter; 0: not known */
    int64_t now_ns;   /* CLOCK_BOOTTIME */
    int64_t step_ns;  /* since the look before */
    bool    is_alone; /* no other job has it, and nobody of whom it is not known who he is */
    bool    is_idle;  /* known to have done nothing in that time */
    double  waits;    /* share of the step time that it waits for data and communication, at most; less than 0: not told */
} hu_energy_look;

/* Adds what the counter rose by to the job's sums.  `row` is the job's on this GPU. */
void hu_job_energy_take(hu_job_ledger *l, hu_ledger_row *row, const hu_energy_look *look);

/* Adds what the node's processors and memory used while the job was the only one here. */
void hu_job_energy_take_cpu(hu_job_ledger *l, uint64_t job, double joules, int64_t now_ns);

/* The sums of a job; NULL: no counter was ever its own. */
const hu_ledger_joules *hu_job_energy_find(const hu_job_ledger *l, uint64_t job);

#endif
