/* SPDX-License-Identifier: Apache-2.0
 * trace_watch.h - all processes and runs of one `holdup trace`: who asks, who is meant, and waiting until all is written. */
#ifndef HU_CLI_TRACE_WATCH_H
#define HU_CLI_TRACE_WATCH_H

#include <signal.h>

#include "cli/trace_sessions.h"

enum { HU_TRACE_DOORS = 16 };

#define HU_TRACE_RUNS "runs" /* folder of the traces of runs, beside those of PyTorch */

/* Who is not answered, and why. */
#define HU_TRACE_STRANGERS(S)                                                                 \
    S(DAMAGED, "sent what is no question of PyTorch's profiler")                              \
    S(OTHER_USER, "belong to another user")                                                   \
    S(OUTSIDE, "asked from outside of this PID namespace, so who they are cannot be checked") \
    S(FALSE_PID, "gave a process number that is not theirs")                                  \
    S(OTHER_NAME, "have no name, or spell KINETO_IPC_SOCKET_DIR in another way than holdup: an answer would abort them")

typedef enum {
#define S(id, words) HU_TRACE_STRANGER_##id,
    HU_TRACE_STRANGERS(S)
#undef S
        HU_TRACE_STRANGER_COUNT
} hu_trace_stranger;

/* A process that was named. */
typedef struct {
    pid_t  pid;
    size_t n_heard; /* processes of it, or below it, that asked */
} hu_trace_word;

typedef struct {
    const hu_trace_plan *plan;
    hu_trace_choice      choice; /* its pids are those of `words` */
    hu_arena            *arena;
    bool                 is_quiet;
    hu_kineto_door       doors[HU_TRACE_DOORS];
    size_t               n_doors;
    char                 closed[HU_TRACE_WHY_BYTES]; /* why a name that processes ask could not be taken; "" */
    HU_VEC(hu_trace_word) words;
    HU_VEC(hu_trace_target) targets;
    hu_trace_sessions sessions;
    int64_t           strangers[HU_TRACE_STRANGER_COUNT], others; /* datagrams; others: of processes that are not meant */
    bool              was_interrupted;
} hu_trace_watch;

/* Takes the names that the processes ask: the abstract one, of `folder` and of the folders that they were started with.
 * HU_EUSAGE or HU_EIO where none could be taken. */
int hu_trace_watch_open(hu_trace_watch *w, const char *folder, hu_error *err);

/* Serves until all that are meant are over, or *stop.  HU_ENOMEM. */
int hu_trace_watch_run(hu_trace_watch *w, const volatile sig_atomic_t *stop, hu_error *err);

void hu_trace_watch_close(hu_trace_watch *w);

#endif
