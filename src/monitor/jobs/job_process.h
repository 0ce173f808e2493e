/* SPDX-License-Identifier: Apache-2.0
 * job_process.h - whose a process is: read once from /proc, and kept for as long as the process lives. */
#ifndef HU_MONITOR_JOBS_JOB_PROCESS_H
#define HU_MONITOR_JOBS_JOB_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/jobs/job_owner.h"

typedef enum {
    HU_PROCESS_KNOWN,
    HU_PROCESS_GONE,    /* it ended, maybe while it was read */
    HU_PROCESS_FOREIGN, /* the driver lists it, and it was never in this /proc: it is in another PID namespace */
} hu_process_state;

typedef struct {
    uint32_t pid;
    uint64_t start;              /* clock ticks since boot, as in /proc/PID/stat: a number is given again, a start is not */
    uint32_t look;               /* when it was last asked for */
    bool     is_seen, is_closed; /* was it ever there; its environment may not be read */
    uint32_t named;              /* look at which hu_pod_names was asked last; 0: never */
    hu_owner owner;
} hu_process;

typedef struct hu_processes hu_processes;

/* `root` is in front of /proc and outlives it.  NULL: no memory. */
hu_processes *hu_processes_new(const char *root);
void          hu_processes_free(hu_processes *p); /* NULL is fine */

/*
 * Begins another look: a process that the last one did not ask for is forgotten.  `has_slurm_groups`: SLURM puts its jobs
 * into groups here, so a process that is in none of them and says that it is SLURM's is not believed.
 */
void hu_processes_begin(hu_processes *p, bool has_slurm_groups);

/*
 * Who `pid` works for.  *out stays until the next look begins; its owner may be changed (hu_pod_names).  A process that ends
 * while it is read, or whose number another one has got meanwhile, is GONE: half of each would be a wrong answer.
 */
hu_process_state hu_processes_find(hu_processes *p, uint32_t pid, hu_process **out);

/* The owner of any process, without keeping it; false: it cannot be told.  `gpus` may be NULL: SLURM_JOB_GPUS, "" none. */
bool hu_processes_owner(hu_processes *p, uint32_t pid, hu_owner *out, char *gpus, size_t room);

#endif
