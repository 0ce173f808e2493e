/* SPDX-License-Identifier: Apache-2.0
 * job_files.h - a folder in which a scheduler's prolog writes down which job has which GPU.
 *
 * Two forms.  dcgm-exporter's: a file for each GPU, INDEX or INDEX.INSTANCE, with the id of a job in each line; here the
 * name may be a uuid, too.  And `job.ID`, which packaging/slurm/prolog writes beside them: KEY=VALUE in each line, with
 * what a number of a job alone does not tell.
 */
#ifndef HU_MONITOR_JOBS_JOB_FILES_H
#define HU_MONITOR_JOBS_JOB_FILES_H

#include "monitor/jobs/allocations.h"
#include "monitor/jobs/slurm_groups.h"

/* Where `holdup monitor` looks without --job-dir, below its root; packaging/slurm/prolog writes there. */
#define HU_JOB_DIR "/run/holdup/jobs"

typedef enum {
    HU_JOB_FILES_READ,
    HU_JOB_FILES_ABSENT, /* there is no such folder */
    HU_JOB_FILES_OPEN,   /* everybody may write there, so nothing in it is believed */
    HU_JOB_FILES_DENIED, /* it cannot be read */
} hu_job_files_state;

typedef struct {
    char           path[512];  /* set by the caller */
    int64_t        changed_ns; /* of the folder, when it was read last; 0: read it again */
    hu_allocations list;
    size_t         stale; /* jobs in it that have ended: the epilog did not run */
} hu_job_files;

/*
 * Reads it if the folder has changed, or all the same if `always`.  Jobs of SLURM that have ended by what its groups say
 * (hu_slurm_has_ended), and files from before the last boot, are left out and counted.
 */
hu_job_files_state hu_job_files_look(hu_job_files *f, const hu_slurm_groups *slurm, bool always);
void               hu_job_files_free(hu_job_files *f);

#endif
