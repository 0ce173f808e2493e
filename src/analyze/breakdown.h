/* SPDX-License-Identifier: Apache-2.0
 * breakdown.h - where the time of each step goes: the device's view and the combined one that TensorBoard showed. */
#ifndef HU_ANALYZE_BREAKDOWN_H
#define HU_ANALYZE_BREAKDOWN_H

#include "analyze/ask.h"

/* torch-tb-profiler's categories in its order of priority; each instant of a step belongs to the first that applies. */
/* clang-format off */
#define HU_BREAKDOWN_ROLES(R)                                                                           \
    R(KERNEL, "kernel", "Kernel")                   /* computing kernels                             */ \
    R(MEMCPY, "memcpy", "Memcpy")                                                                       \
    R(MEMSET, "memset", "Memset")                                                                       \
    R(COMMUNICATION, "communication", "Communication") /* its kernels and the host's part of it      */ \
    R(RUNTIME, "runtime", "Runtime")                /* calls of the runtime and the driver           */ \
    R(DATA_LOADER, "data_loader", "DataLoader")                                                         \
    R(CPU_EXEC, "cpu_exec", "CPU Exec")             /* operators, annotations, Python                */ \
    R(OTHER, "other", "Other")
/* clang-format on */

typedef enum {
#define R(id, key, label) HU_ROLE_##id,
    HU_BREAKDOWN_ROLES(R)
#undef R
        HU_ROLE_COUNT
} hu_role;

/* Times of one step, or their mean, in ns.  compute + exposed_comm + exposed_copy + idle = the step. */
typedef struct {
    double step_ns;
    double compute_ns;      /* union of computing kernels */
    double comm_ns;         /* union of communication kernels, hidden or not */
    double exposed_comm_ns; /* comm ∖ compute */
    double exposed_copy_ns; /* (memcpy ∪ memset) ∖ compute ∖ comm */
    double idle_ns;
    double wait_ns;                /* of the other role: a Python frame waits on some thread, and no thread does anything */
    double unknown_ns;             /* of the other role and not of wait_ns: nothing but events of unknown kinds */
    double role_ns[HU_ROLE_COUNT]; /* sum = step */
} hu_step_time;

typedef struct {
    bool          has_device;            /* the trace holds device work at all */
    int64_t       capture_ns;            /* from the first to the last thing of hosts and devices */
    int64_t       rest_ns, rest_busy_ns; /* what of it is in no step, and how long the device works there */
    hu_step_time *at;                    /* for each step of hu_steps */
    size_t        n;
    hu_step_time  mean;   /* over the periods of the steps that count (steady.h); NaN when none does */
    hu_step_time  spread; /* their sample standard deviation; NaN below two */
} hu_breakdown;

/* One row for each step of ask->steps; rows live in the arena of `ask`.  Returns 0 or HU_ENOMEM. */
int hu_breakdown_measure(const hu_ask *ask, hu_breakdown *out, hu_error *err);

const char *hu_role_key(hu_role role);   /* "data_loader" */
const char *hu_role_label(hu_role role); /* "DataLoader" */

#endif
