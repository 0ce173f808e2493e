/* SPDX-License-Identifier: Apache-2.0
 * host_time.h - where the time of the main thread goes, each instant once; and what the other processes did meanwhile. */
#ifndef HU_ANALYZE_HOST_TIME_H
#define HU_ANALYZE_HOST_TIME_H

#include "analyze/go_program.h"

/* What a thread does: a class of calls of the system (hu_host_class), or one of these. */
typedef enum {
    HU_STATE_COMM = HU_HOST_CLASS_COUNT, /* MPI, and ranges of collectives */
    HU_STATE_TEAM,                       /* at barriers of OpenMP, spinning or asleep */
    HU_STATE_STARVED,                    /* it could run, and has no processor */
    HU_STATE_BLOCKED,                    /* it waits, in no call that was recorded */
    HU_STATE_UNKNOWN,                    /* the scheduler's records were lost */
    HU_STATE_RUNS,                       /* the rest */
    HU_STATE_COUNT,
} hu_host_state;

/* One process and its main thread, from its start to its end; where that was not recorded, from the first to the last thing
   that it did. */
typedef struct {
    hu_str  name; /* "" not recorded */
    int64_t pid, threads, start_ns, wall_ns;
    int64_t state_ns[HU_STATE_COUNT]; /* of its main thread; their sum is wall_ns */
    int64_t cpu_ns;                   /* that all its threads ran; -1 not known */
    bool    is_main;
    bool    is_go; /* its threads are not what it does (go_program.h) */
} hu_host_process;

/* Another thread of the main process, in the same way. */
typedef struct {
    hu_str  name; /* "" not recorded */
    int64_t tid, start_ns, wall_ns;
    int64_t state_ns[HU_STATE_COUNT]; /* their sum is wall_ns */
    int64_t cpu_ns;                   /* that it ran; -1 not known */
} hu_host_thread;

enum { HU_HOST_PROCESSES = 100, HU_HOST_THREADS = 256 }; /* rows that are kept: the longest */

typedef struct {
    bool             is_recorded;     /* calls of the system, of MPI or states of threads are in the trace */
    int64_t          source;          /* hu_state_source: how much is known of states */
    hu_str           process, thread; /* of the main thread; "" not recorded */
    int64_t          pid, tid;
    double           step_ns;                        /* mean of the steps that count, or the time that the thread lived */
    double           state_ns[HU_STATE_COUNT];       /* of it; sum = step */
    double           idle_ns[HU_STATE_COUNT];        /* of that, while no device worked */
    double           task_ns[HU_THREAD_STATE_COUNT]; /* the scheduler's view of the same time; sum = step */
    double           wall_ns, cpu_ns; /* of the main process: its life; that all its threads ran, NaN not known */
    double           job_cpu_ns;      /* the same of all processes */
    int64_t          all_threads;     /* of the main process */
    int64_t          all_processes;
    hu_go_program    go; /* of the main process */
    hu_host_process *at; /* the main process first, then by start, number */
    size_t           n;
    hu_host_thread  *threads; /* by start, number */
    size_t           n_threads;
    int64_t          other_threads; /* of the main process, but the main one: rows are the longest of them */
} hu_host_time;

/* Rows live in the arena of `ask`, texts are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_host_time_measure(const hu_ask *ask, hu_host_time *out, hu_error *err);

const char *hu_host_state_words(unsigned state); /* "the main thread" …: "reads files" */

/* The state with most of some times, running left out; HU_STATE_RUNS when it does nothing else. */
hu_host_state hu_host_time_longest(const double state_ns[HU_STATE_COUNT]);

/* Of a process: what it takes by itself, not waiting for children, other threads, other ends of pipes or a CPU. */
int64_t hu_host_process_own_ns(const hu_host_process *p);

/* Whom the main process waits for: the child that takes most by itself; where it waits for what is not told, another process
   that computes for half of the time.  NULL: neither. */
const hu_host_process *hu_host_time_child(const hu_host_time *t);

#endif
