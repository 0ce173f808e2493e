/* SPDX-License-Identifier: Apache-2.0
 * cost.h - what the recording itself costs, measured on this machine and not taken from a table. */
#ifndef HU_RECORD_COST_H
#define HU_RECORD_COST_H

#include <stdint.h>

#include "protocol/format.h"

/* Nanoseconds for a record with two readings of the clock, as a call that took time needs; the best of some tries. */
double hu_cost_of_record(hu_clock clock);

typedef struct {
    int64_t records_ns;                 /* records x cost of one: CPU time of the job that went into recording */
    int64_t supervisor_ns;              /* CPU time of the supervisor, on whatever processor was free */
    int64_t job_ns;                     /* CPU time of the job, its recording included */
    int64_t pid;                        /* of the command; 0 not known */
    int64_t main_run_ns, main_delay_ns; /* of the command's main thread: on a CPU, waiting for one; 0 not known */
    double  share;                      /* both, of the job's CPU time without them; NAN when the job had none */
} hu_cost;

/* threads_ns: CPU time of our own threads in the command. */
hu_cost hu_cost_measure(uint64_t records, double ns_per_record, int64_t threads_ns, int64_t supervisor_ns, int64_t job_ns);

#endif
