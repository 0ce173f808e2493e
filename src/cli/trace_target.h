/* SPDX-License-Identifier: Apache-2.0
 * trace_target.h - one process of `holdup trace`, from its first question to its file. */
#ifndef HU_CLI_TRACE_TARGET_H
#define HU_CLI_TRACE_TARGET_H

#include "cli/trace_work.h"

enum { HU_TRACE_WHY_BYTES = sizeof(hu_error) + 64 };

/* id, word, is it over */
#define HU_TRACE_STATES(S)                                                  \
    S(WAITING, "waiting", false) /* it was not heard of yet */              \
    S(BUSY, "busy", false)       /* it asks, but its profiler is on */      \
    S(ARMED, "armed", false)     /* it has the request, and will start */   \
    S(RECORDING, "recording", false)                                        \
    S(WRITING, "writing", false) /* it makes the file of it */              \
    S(WRITTEN, "written", true)                                             \
    S(EMPTY, "empty", true) /* a launcher, or a process that only waited */ \
    S(FAILED, "failed", true)

typedef enum {
#define S(id, word, is_over) HU_TRACE_##id,
    HU_TRACE_STATES(S)
#undef S
        HU_TRACE_STATE_COUNT
} hu_trace_state;

const char *hu_trace_state_word(hu_trace_state state);
bool        hu_trace_state_is_over(hu_trace_state state);

/* What all processes are asked for, and how long one waits.  Times are of CLOCK_REALTIME, in ms. */
typedef struct {
    hu_kineto_request request;    /* start_ms 0: each as soon as it can; file: of the process */
    const char       *folder;     /* absolute, where the files go */
    const char       *host;       /* begins their names */
    int64_t           last_ms;    /* who asks later is too late */
    int64_t           timeout_ms; /* from the end of the recording to the whole file */
} hu_trace_plan;

typedef struct {
    hu_torch_process about;
    hu_trace_state   state;
    hu_trace_file    file;
    hu_trace_work   *work;                                   /* reads the file now; NULL: nobody does */
    int64_t          sent_ms, begin_ms, end_ms, deadline_ms; /* begin and end: as planned; by steps, of the shortest kind */
    int              idle_polls;                             /* since it could have been done */
    bool             was_busy, lacks_steps;
    char             path[HU_KINETO_PATH_BYTES]; /* its trace; "" */
    char             why[HU_TRACE_WHY_BYTES];    /* of BUSY and FAILED */
    int64_t          bytes;
    int64_t          entered_ms[HU_TRACE_STATE_COUNT]; /* 0: never */
} hu_trace_target;

void hu_trace_target_begin(hu_trace_target *t, const hu_torch_process *p, int64_t now_ms);

/* It asked.  The request that it gets goes into `text` (HU_KINETO_TEXT_BYTES), "" for none. */
void hu_trace_target_asked(hu_trace_target *t, const hu_trace_plan *plan, bool is_idle, int64_t now_ms, char *text);

/* Time has passed.  `may_read`: no other target's file is being read. */
void hu_trace_target_look(hu_trace_target *t, const hu_trace_plan *plan, bool may_read, int64_t now_ms);

/* Waits for the end of what reads its file. */
void hu_trace_target_settle(hu_trace_target *t, const hu_trace_plan *plan, int64_t now_ms);

__attribute__((format(printf, 3, 4))) void hu_trace_target_fail(hu_trace_target *t, int64_t now_ms, const char *format, ...);

/* Why nothing is heard of a process, from what /proc says of it; `p` NULL: there is none. */
void hu_trace_say_silence(const hu_torch_process *p, pid_t pid, char *out, size_t room);

#endif
