/* SPDX-License-Identifier: Apache-2.0
 * metrics_host.h - rows of metrics.h: what is sampled of the node beside its GPUs. */
#ifndef HU_MONITOR_METRICS_HOST_H
#define HU_MONITOR_METRICS_HOST_H

/* clang-format off */
/* M(id, name, type, unit, labels, help) */
#define HU_METRICS_HOST(M)                                                                                                   \
    M(CPU_SECONDS, "holdup_host_cpu_seconds_total", COUNTER, "seconds", "mode",                                              \
      "CPU time of all processors, by what they did.")                                                                       \
    M(CPUS, "holdup_host_cpus", GAUGE, "", "", "Processors that are online.")

#endif
