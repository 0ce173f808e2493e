/* SPDX-License-Identifier: Apache-2.0
 * job_environ.h - the few variables of a process that say which job and rank it is; all others are passed over unread.
 *
 * An environment holds passwords and keys.  It goes through one buffer, which is cleared, and only variables of the list in
 * job_environ.c are ever copied out of it.
 */
#ifndef HU_MONITOR_JOBS_JOB_ENVIRON_H
#define HU_MONITOR_JOBS_JOB_ENVIRON_H

#include "monitor/jobs/job_owner.h"

enum { HU_ENVIRON_GPUS = 256 };

typedef struct {
    hu_owner owner;                 /* scheduler "" where no variable names one */
    char     gpus[HU_ENVIRON_GPUS]; /* SLURM's numbers of the GPUs of the job, else of its step: "0,1"; "" */
    bool     is_step;               /* of the step */
} hu_job_environ;

/* Reads all of `fd`, which is /proc/PID/environ.  False: it cannot be read. */
bool hu_job_environ_read(int fd, hu_job_environ *out);

#endif
