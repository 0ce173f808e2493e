/* SPDX-License-Identifier: Apache-2.0
 * job_cgroup.h - which job, pod or container a process belongs to, from its line in /proc/PID/cgroup. */
#ifndef HU_MONITOR_JOBS_JOB_CGROUP_H
#define HU_MONITOR_JOBS_JOB_CGROUP_H

#include <stdint.h>

#include "base/str.h"

typedef enum { HU_RUNTIME_NONE, HU_RUNTIME_DOCKER, HU_RUNTIME_PODMAN, HU_RUNTIME_OTHER } hu_runtime;

/* Each text points into what was parsed; n 0: none. */
typedef struct {
    hu_str     job_id, step_id; /* of SLURM */
    hu_str     pod_uid;         /* of Kubernetes, with whatever stands between its digits */
    hu_str     container_id;    /* 64 hexadecimal digits; of a pod, those of the pod's own container */
    hu_runtime runtime;
    int64_t    uid; /* of the user whose group it is; -1 not known */
} hu_job_group;

/* `text` is the whole file, versions 1 and 2, of any init system. */
hu_job_group hu_job_group_of(hu_str text);

#endif
