/* SPDX-License-Identifier: Apache-2.0
 * supervise.h - what `holdup run` does while the command runs: drains, keeps time, passes signals on, obeys. */
#ifndef HU_RECORD_SUPERVISE_H
#define HU_RECORD_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/collect.h"
#include "record/energy_sampler.h"
#include "record/launch.h"
#include "record/live.h"
#include "record/outsiders.h"
#include "record/perf.h"
#include "record/session.h"
#include "record/wait_samples.h"

typedef enum { HU_KILL_NONE, HU_KILL_SIGKILL, HU_KILL_SIGTERM } hu_kill;

typedef struct {
    hu_session      *session;
    hu_collector    *collector;             /* NULL: nobody drains */
    hu_perf         *perf;                  /* NULL: no samples */
    hu_wait_samples *waits;                 /* NULL: waiting threads are not sampled */
    hu_outsiders    *outsiders;             /* NULL: not searched for */
    hu_live         *live;                  /* NULL: no monitor is told */
    int64_t          delay_ns, duration_ns; /* 0: none; the duration begins when recording does.
                                         * Without a delay it has begun already, or `holdup start` begins it */
    bool             waits_for_all;         /* also for what the command leaves behind */
    hu_kill          kill;                  /* the command, when the duration is over */
    /* Saves what there is by now, in a process of its own, while the recording goes on.  May be NULL. */
    void (*save)(void *context);
    void *context;

    hu_energy_sampler *energy; /* NULL: nobody looks */
} hu_supervise_options;

typedef struct {
    int     status;        /* of the command, as wait(2) gives it */
    int     signal;        /* the last one that asked this run to end; 0 */
    bool    has_ended;     /* false: the user would not wait for the command any longer */
    bool    was_cancelled; /* `holdup cancel`: what was recorded is not wanted */
    int64_t wall_ns;
    int64_t own_cpu_ns, job_cpu_ns;     /* of the supervisor; of the command and all that it waited for */
    int64_t main_run_ns, main_delay_ns; /* of the command's main thread: on a CPU, waiting for one; 0: not known */
    int64_t first_ns, last_ns;          /* CLOCK_REALTIME: begin and end of what was recorded; 0: never */
} hu_supervision;

/* Blocks the signals that hu_supervise waits for and remembers what the command must get back.  Before any fork. */
void hu_supervise_prepare(hu_launch_signals *signals, const struct sigaction *pipe, bool waits_for_all);

/* Until the command `child` has ended.  All failures are in the control page and in `out`. */
void hu_supervise(const hu_supervise_options *options, pid_t child, hu_supervision *out);

/* The exit status that a shell would show: the command's own, or 128 + its signal. */
int hu_supervise_exit_status(const hu_supervision *result);

#endif
