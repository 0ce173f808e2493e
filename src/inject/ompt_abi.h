/* SPDX-License-Identifier: Apache-2.0
 * ompt_abi.h - OMPT as a tool sees it: our own declarations of what is used of OpenMP 5.0 and later (64-bit systems).
 *
 * Facts from the OpenMP specification 5.2, section 19 and appendix B; tests compare them with omp-tools.h of LLVM.
 */
#ifndef HU_INJECT_OMPT_ABI_H
#define HU_INJECT_OMPT_ABI_H

#include <stdint.h>

typedef union {
    uint64_t value;
    void    *ptr;
} hu_ompt_data;

typedef void (*hu_ompt_function)(void);
typedef hu_ompt_function (*hu_ompt_lookup)(const char *name);
typedef int (*hu_ompt_set_callback)(int event, hu_ompt_function callback);

/* What ompt_start_tool returns. */
typedef struct {
    int (*initialize)(hu_ompt_lookup lookup, int device, hu_ompt_data *tool);
    void (*finalize)(hu_ompt_data *tool);
    hu_ompt_data tool;
} hu_ompt_tool;

enum { /* events */
       HU_OMPT_THREAD_END = 2,
       HU_OMPT_PARALLEL_BEGIN = 3,
       HU_OMPT_PARALLEL_END = 4,
       HU_OMPT_TASK_CREATE = 5,
       HU_OMPT_TASK_SCHEDULE = 6,
       HU_OMPT_IMPLICIT_TASK = 7,
       HU_OMPT_SYNC_REGION_WAIT = 16,
       HU_OMPT_WORK = 20,
       HU_OMPT_MUTEX_ACQUIRE = 26,
       HU_OMPT_MUTEX_ACQUIRED = 27,
};

enum { HU_OMPT_BEGIN = 1, HU_OMPT_END = 2 };                       /* endpoints */
enum { HU_OMPT_TASK_INITIAL = 0x1, HU_OMPT_TASK_EXPLICIT = 0x4 };  /* flags of tasks */
enum { HU_OMPT_MUTEX_TEST_LOCK = 2, HU_OMPT_MUTEX_TEST_NEST = 4 }; /* kinds of mutexes: tried, perhaps in vain */

enum { /* kinds of synchronisation */
       HU_OMPT_SYNC_BARRIER = 1,
       HU_OMPT_SYNC_BARRIER_IMPLICIT = 2,
       HU_OMPT_SYNC_BARRIER_EXPLICIT = 3,
       HU_OMPT_SYNC_BARRIER_IMPLEMENTATION = 4,
       HU_OMPT_SYNC_TASKWAIT = 5,
       HU_OMPT_SYNC_TASKGROUP = 6,
       HU_OMPT_SYNC_BARRIER_WORKSHARE = 8,
       HU_OMPT_SYNC_BARRIER_PARALLEL = 9,
       HU_OMPT_SYNC_BARRIER_TEAMS = 10,
};

enum { /* how a task came to be left */
       HU_OMPT_TASK_COMPLETE = 1,
       HU_OMPT_TASK_YIELD = 2,
       HU_OMPT_TASK_CANCEL = 3,
       HU_OMPT_TASK_DETACH = 4,
       HU_OMPT_TASK_SWITCH = 7,
};

#endif
