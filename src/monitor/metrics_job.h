/* SPDX-License-Identifier: Apache-2.0
 * metrics_job.h - rows of metrics.h: whom a GPU works for. */
#ifndef HU_MONITOR_METRICS_JOB_H
#define HU_MONITOR_METRICS_JOB_H

/* clang-format off */
/* M(id, name, type, unit, labels, help) */
#define HU_METRICS_JOB(M)                                                                                                    \
    M(JOB_INFO, "holdup_job_info", INFO, "",                                                                                 \
      "uuid,gpu,scheduler,job_id,step_id,user,account,partition,job_name,rank,world,pod_uid,k8s_namespace,k8s_pod,k8s_container,container_id",  \
      "A job that a GPU is allocated to, or whose process uses it; join it on uuid.")                                        \
    M(ALLOCATED_IDLE, "holdup_gpu_allocated_idle_seconds_total", COUNTER, "seconds", "uuid,gpu,scheduler,job_id,user",       \
      "Time in which the GPU was allocated to the job and ran nothing.")

#endif
