/* SPDX-License-Identifier: Apache-2.0
 * metrics_self.h - rows of metrics.h: the monitor itself, what it costs and whether it can see. */
#ifndef HU_MONITOR_METRICS_SELF_H
#define HU_MONITOR_METRICS_SELF_H

/* clang-format off */
/* M(id, name, type, unit, labels, help) */
#define HU_METRICS_SELF(M)                                                                                                  \
    M(BUILD_INFO, "holdup_build_info", INFO, "", "version", "Version of holdup.")                                           \
    M(SOURCE_UP, "holdup_monitor_source_up", GAUGE, "", "source",                                                           \
      "1 if the source was sampled in its last two periods; 0: its series are gone, see `holdup monitor --once`.")          \
    M(SAMPLE_AGE, "holdup_monitor_sample_age_seconds", GAUGE, "seconds", "source",                                          \
      "Time since the last sample of the source.")                                                                          \
    M(SAMPLE_DURATION, "holdup_monitor_sample_duration_seconds", GAUGE, "seconds", "source,group",                          \
      "Time that the last sample took.")                                                                                    \
    M(SELF_CPU, "holdup_monitor_cpu_seconds_total", COUNTER, "seconds", "process",                                          \
      "CPU time of the monitor's own processes.")                                                                           \
    M(STUCK, "holdup_monitor_stuck", GAUGE, "", "process",                                                                  \
      "1 if the process is inside of a call that does not return, for example into a driver.")                              \
    M(RESTARTS, "holdup_monitor_restarts_total", COUNTER, "", "process", "Times that the process was started again.")       \
    M(PROBLEM, "holdup_monitor_problem", GAUGE, "", "source,what,fix",                                                      \
      "1: why something is not sampled, served or written, and what to do about it.")                                       \
    M(START_TIME, "process_start_time_seconds", GAUGE, "seconds", "", "Unix time when the monitor started.")                \
    M(PROCESS_CPU, "process_cpu_seconds_total", COUNTER, "seconds", "", "CPU time of the exporter's process.")              \
    M(PROCESS_RSS, "process_resident_memory_bytes", GAUGE, "bytes", "", "Resident memory of the exporter's process.")       \
    M(PROCESS_FDS, "process_open_fds", GAUGE, "", "", "Open file descriptors of the exporter's process.")                   \
    M(PROCESS_MAX_FDS, "process_max_fds", GAUGE, "", "", "Most file descriptors that the exporter's process may open.")

#endif
