/* SPDX-License-Identifier: Apache-2.0
 * metrics_job.h - rows of metrics.h: whom a GPU works for. */
#ifndef HU_MONITOR_METRICS_JOB_H
#define HU_MONITOR_METRICS_JOB_H

/* clang-format off */
/* M(id, name, type, unit, labels, help) */
#define HU_METRICS_JOB(M)                                                                                                   \
    M(JOB_INFO, "holdup_job_info", INFO, "",                                                                                \
      "uuid,gpu,scheduler,job_id,step_id,user,account,partition,job_name,rank,world,"                                       \
      "pod_uid,k8s_namespace,k8s_pod,k8s_container,container_id",                                                           \
      "A job that a GPU is allocated to, or whose process uses it; join it on uuid.")                                       \
    M(GPU_ALLOCATED, "holdup_gpu_allocated", GAUGE, "", "uuid,gpu",                                                         \
      "1 if a scheduler gave the GPU to a job, or a process uses it; 0: neither; absent where that cannot be told.")        \
    M(ALLOCATED_IDLE, "holdup_gpu_allocated_idle_seconds_total", COUNTER, "seconds", "uuid,gpu,scheduler,job_id,user",      \
      "Time in which the job had the GPU and did nothing with it: less than 5 % busy.")                                     \
    M(JOB_PROCESSES, "holdup_job_gpu_processes", GAUGE, "", "uuid,gpu,scheduler,job_id,user",                               \
      "Processes of the job that use the GPU; 0: it has the GPU and no process on it.")                                     \
    M(JOB_GPU_BUSY, "holdup_job_gpu_utilization_ratio", GAUGE, "ratio", "uuid,gpu,scheduler,job_id,user",                   \
      "Share of time in which the job's own processes ran kernels, where the driver tells it by process.")                  \
    M(JOB_ENERGY, "holdup_job_energy_joules_total", COUNTER, "joules", "scheduler,job_id,step_id,user,source",              \
      "Energy of the job on this node while it alone had what the counter is of; source: gpu, cpu (with memory).")          \
    M(JOB_ENERGY_WASTED, "holdup_job_energy_wasted_joules_total", COUNTER, "joules",                                        \
      "scheduler,job_id,step_id,user,cause",                                                                                \
      "Energy of the job that did nothing for it, at least; cause: allocated-idle (its GPUs were less than 5 % busy).")     \
    M(JOB_ENERGY_WAITED, "holdup_job_energy_waited_joules_total", COUNTER, "joules",                                        \
      "scheduler,job_id,step_id,user,cause,bound",                                                                          \
      "Energy that GPUs of the job used while it waited for data or communication, at most; no part of the wasted energy.") \
    M(ATTRIBUTION, "holdup_gpu_attribution_info", INFO, "", "uuid,gpu,state,reason",                                        \
      "Whether it is known whom the GPU works for: known, none (nobody has it) or unknown, and why.")                       \
    M(CLAIM, "holdup_k8s_claim_info", INFO, "",                                                                             \
      "claim_namespace,claim,k8s_namespace,k8s_pod,k8s_container,driver,pool,device",                                       \
      "A device that Kubernetes gave to a container by a resource claim; which GPU it is, the kubelet does not tell.")

#endif
