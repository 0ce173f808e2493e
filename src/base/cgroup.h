/* SPDX-License-Identifier: Apache-2.0
 * cgroup.h - how much CPU time the control group of this process may use, and how often it was stopped for that. */
#ifndef HU_BASE_CGROUP_H
#define HU_BASE_CGROUP_H

#include <stdint.h>

/* A group's bandwidth (Documentation/scheduler/sched-bwc.rst of Linux): so much CPU time in each period. */
typedef struct {
    int64_t limit_milli;  /* thousandths of a CPU; 0: no limit, or none that can be read */
    int64_t periods;      /* in which the group had something to run */
    int64_t throttled;    /* of these, in which it had used up its time */
    int64_t throttled_ns; /* for which its run queues were stopped, summed over CPUs */
} hu_cpu_quota;

/*
 * Of the group of this process or of the one above it that allows least; versions 1 and 2.  Counts are since the group was
 * made.  `root` is put before every path: "" outside of tests.
 */
hu_cpu_quota hu_cgroup_read(const char *root);

/* What was counted between two readings; no limit if it was set, changed or lifted between them. */
hu_cpu_quota hu_cgroup_between(const hu_cpu_quota *before, const hu_cpu_quota *after);

#endif
