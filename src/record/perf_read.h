/* SPDX-License-Identifier: Apache-2.0
 * perf_read.h - what perf.c and schedstat.c wrote, read back: states of threads, samples, where code lay. */
#ifndef HU_RECORD_PERF_READ_H
#define HU_RECORD_PERF_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"

typedef enum {
    HU_TASK_RUNNABLE, /* wants to run, and does not: preempted, or not yet given a CPU */
    HU_TASK_RUNNING,
    HU_TASK_SLEEPING,
    HU_TASK_DEAD,
    HU_TASK_LOST,  /* records were lost: nothing is known until its next change */
    HU_TASK_ALIVE, /* nobody watched it, but it lives (lives.h) */
    HU_TASK_STATES,
} hu_task_state;

typedef struct {
    int64_t  time_ns; /* CLOCK_MONOTONIC */
    uint32_t thread;  /* index of threads */
    uint16_t cpu;
    uint8_t  state; /* hu_task_state that begins here */
} hu_perf_change;

typedef struct {
    int64_t  time_ns;
    uint32_t thread;
    uint32_t stack; /* index of stacks; 0: no address is known */
    uint16_t cpu;
    uint8_t  is_kernel;
} hu_perf_sample;

/* A call chain is its innermost frame and the stack of its caller. */
typedef struct {
    uint32_t caller; /* index of stacks, always a smaller one; 0: this is the outermost */
    uint32_t frame, depth;
} hu_perf_stack;

typedef struct {
    uint32_t module;
    uint64_t at; /* offset in the file of the module; an address where there is no file */
} hu_perf_frame;

typedef enum {
    HU_MODULE_FILE,
    HU_MODULE_JIT, /* memory without a file */
    HU_MODULE_KERNEL,
    HU_MODULE_UNKNOWN,
} hu_module_kind;

typedef struct {
    uint32_t path;           /* a text */
    uint32_t pid;            /* of memory without a file; else 0 */
    uint8_t  kind;           /* hu_module_kind */
    uint8_t  build_id_bytes; /* 0: not known */
    uint8_t  build_id[20];
    uint64_t start, end, offset; /* where it lay when it was first seen */
} hu_perf_module;

typedef struct {
    uint32_t pid, tid, name;        /* name: a text, the last one */
    uint32_t parent;                /* process that started this one; 0 not known, or no process's first thread */
    int64_t  first_ns, last_ns;     /* seen */
    int64_t  in_ns[HU_TASK_STATES]; /* time in each state */
    uint64_t samples, switches;
    int64_t  since_ns; /* of the state that lasts */
    uint8_t  state;
    bool     has_ended, is_known; /* is_known: its state is */
} hu_perf_thread;

typedef struct {
    hu_arena *arena;
    hu_intern texts;
    HU_VEC(hu_perf_thread) threads;
    HU_VEC(hu_perf_change) changes; /* in the order of time */
    HU_VEC(hu_perf_sample) samples; /* in the order of time */
    HU_VEC(hu_perf_stack) stacks;   /* 0: none */
    HU_VEC(hu_perf_frame) frames;
    HU_VEC(hu_perf_module) modules;
    hu_map   thread_of;    /* tid: the last thread that had it */
    uint64_t period_ns;    /* of CPU time for one sample; 0: no samples were taken */
    uint64_t lost, cut;    /* records that the kernel, and we, had to drop */
    int64_t  last_loss_ns; /* what a thread did then is not known until its next change */
    uint64_t malformed;    /* records that are none; the rest of their file is not read */
    uint32_t n_files;
    bool     is_user_only;
    bool     is_estimate; /* states are of schedstat: their sums are true, their places are not */
} hu_perf_files;

/*
 * Reads all files perf.CPU of a session; where there are none, `schedstat` and the samples in rings.  0 also when there
 * is neither: then n_files is 0.  HU_ENOMEM, or HU_EIO when the directory cannot be read.
 */
int hu_perf_read(const char *session, hu_arena *arena, hu_perf_files *out, hu_error *err);

static inline hu_str hu_perf_text(const hu_perf_files *files, uint32_t id)
{
    return hu_intern_get(&files->texts, id);
}

#endif
