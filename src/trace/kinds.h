/* SPDX-License-Identifier: Apache-2.0
 * kinds.h - every kind of slice once: its name in JSON and SQL, and where it runs; what calls of the system are for. */
#ifndef HU_TRACE_KINDS_H
#define HU_TRACE_KINDS_H

#include <stdbool.h>

/* id, name, place: host (a thread of the program), device (work of a stream), note (drawn over other slices) */
/* clang-format off */
#define HU_KINDS(K)                                                                         \
    K(CPU_OP, "cpu_op", HOST)               /* an operator of the framework              */ \
    K(PYTHON, "python_function", HOST)      /* a frame of the Python stack               */ \
    K(USER, "user_annotation", HOST)        /* record_function, NVTX, ProfilerStep       */ \
    K(RUNTIME, "runtime", HOST)             /* cuda*, hip*, and the like                 */ \
    K(DRIVER, "driver", HOST)               /* cu*, ze* below the runtime                */ \
    K(OS_CALL, "os_call", HOST)             /* read, fsync, nanosleep, pthread_mutex_lock */ \
    K(MPI, "mpi", HOST)                     /* MPI_Send …                                */ \
    K(CPU_WAIT, "cpu_wait", NOTE)           /* a thread could run and had no processor   */ \
    K(OVERHEAD, "overhead", NOTE)           /* the profiler's own work                   */ \
    K(KERNEL, "kernel", DEVICE)             /* computation                               */ \
    K(COLLECTIVE, "collective", DEVICE)     /* a communication kernel                    */ \
    K(MEMCPY, "memcpy", DEVICE)                                                             \
    K(MEMSET, "memset", DEVICE)                                                             \
    K(SYNC, "sync", NOTE)                   /* a wait of the host, drawn on the device   */ \
    K(GPU_USER, "gpu_user_annotation", NOTE) /* a user range projected onto the device   */ \
    K(EVENT, "device_event", NOTE)          /* cudaEvent records                         */ \
    K(COUNTER_RANGE, "profiler_range", NOTE) /* hardware counters over one kernel        */ \
    K(OPENMP, "openmp", NOTE)               /* what OpenMP does: regions, waits, tasks */   \
    K(OPENACC, "openacc", NOTE)             /* the same of OpenACC                      */  \
    K(SPAN, "span", NOTE)                   /* the capture itself                        */ \
    K(OTHER, "other", NOTE)
/* clang-format on */

typedef enum {
#define K(id, name, place) HU_KIND_##id,
    HU_KINDS(K)
#undef K
        HU_KIND_COUNT
} hu_kind;

/* Sets of kinds, one bit each. */
#define HU_BIT(id) (1u << HU_KIND_##id)

enum {
    HU_KINDS_COMPUTE = HU_BIT(KERNEL),
    HU_KINDS_COMM = HU_BIT(COLLECTIVE),
    HU_KINDS_COPY = HU_BIT(MEMCPY) | HU_BIT(MEMSET),
    HU_KINDS_DEVICE = HU_BIT(KERNEL) | HU_BIT(COLLECTIVE) | HU_BIT(MEMCPY) | HU_BIT(MEMSET),
    HU_KINDS_CALL = HU_BIT(RUNTIME) | HU_BIT(DRIVER),
    HU_KINDS_HOST = HU_BIT(CPU_OP) | HU_BIT(PYTHON) | HU_BIT(USER) | HU_BIT(RUNTIME) | HU_BIT(DRIVER) | HU_BIT(OS_CALL) |
                    HU_BIT(MPI),
};

/* What a call of the operating system is for; what a wait in it waits for.  id, key, words behind "the thread" */
#define HU_HOST_CLASSES(C)                                       \
    C(FILE_READ, "file_read", "reads files")                     \
    C(FILE_WRITE, "file_write", "writes files")                  \
    C(FILE_META, "file_meta", "opens, closes or looks up files") \
    C(FSYNC, "fsync", "waits for data to reach the disk")        \
    C(NETWORK, "network", "waits for the network")               \
    C(PIPE, "pipe", "waits for the other end of a pipe")         \
    C(LOCK, "lock", "waits for locks")                           \
    C(SLEEP, "sleep", "sleeps")                                  \
    C(POLL, "poll", "waits for events on file descriptors")      \
    C(WAIT, "wait", "waits for another thread")                  \
    C(CHILD, "child", "waits for its child processes")           \
    C(MPI, "mpi", "is in MPI")                                   \
    C(OTHER, "other", "is in other system calls")

typedef enum {
#define C(id, key, words) HU_HOST_##id,
    HU_HOST_CLASSES(C)
#undef C
        HU_HOST_CLASS_COUNT
} hu_host_class;

/* How a thread wakes others.  id, key */
#define HU_WAKEUPS(W)         \
    W(UNLOCK, "unlock")       \
    W(SIGNAL, "signal")       \
    W(BROADCAST, "broadcast") \
    W(POST, "post")           \
    W(FUTEX, "futex")         \
    W(EVENTFD, "eventfd")     \
    W(OTHER, "other")

typedef enum {
#define W(id, key) HU_WAKEUP_##id,
    HU_WAKEUPS(W)
#undef W
        HU_WAKEUP_HOWS
} hu_wakeup_how;

static inline bool hu_kind_in(unsigned kind, unsigned set)
{
    return (set >> kind & 1u) != 0;
}

const char *hu_kind_name(unsigned kind);
const char *hu_kind_help(unsigned kind); /* of those in the timeline's legend, else "" */

/* "file_read"; "reads files". */
const char *hu_host_class_key(unsigned class);
const char *hu_host_class_words(unsigned class);

const char *hu_wakeup_key(unsigned how); /* "unlock" */

#endif
