/* SPDX-License-Identifier: Apache-2.0
 * launch.h - starts the command with the recorder in it: environment, fork, exec. */
#ifndef HU_RECORD_LAUNCH_H
#define HU_RECORD_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

typedef struct {
    const char  *session;     /* absolute */
    const char  *library;     /* libholdup-inject.so, absolute; NULL: there is none */
    const char  *python;      /* folder that holds the package holdup; NULL: none */
    bool         has_hook;    /* the session holds the hook of --pytorch (torch_hook.h) */
    char *const *assignments; /* NAME=VALUE of the command line; the last one of a name counts */
    size_t       n_assignments;
    const char  *program; /* the file that is started; NULL: not known */
    bool         wants_nvtx, wants_cuda, wants_nccl, wants_opencl, wants_openmp;
} hu_launch_plan;

/* Lines for the user about what could not be done as wished; texts are in the arena. */
typedef struct {
    const char *at[8];
    size_t      n;
} hu_launch_notes;

/*
 * The environment for the command: the caller's, the assignments, and ours.  LD_PRELOAD and PYTHONPATH are added to,
 * the tools of NVTX_INJECTION64_PATH and CUDA_INJECTION64_PATH become those of HOLDUP_NVTX_CHAIN and HOLDUP_CUDA_CHAIN,
 * called by us; a NCCL_PROFILER_PLUGIN that is there stays.  NULL when there is no memory.
 */
char **hu_launch_environment(char *const *environment, const hu_launch_plan *plan, hu_arena *arena, hu_launch_notes *notes);

typedef struct {
    sigset_t         mask;              /* as this program found it, */
    struct sigaction child, pipe, size; /* and SIGCHLD, SIGPIPE and SIGXFSZ: the command gets them back */
} hu_launch_signals;

typedef struct {
    pid_t pid;
    int   go;   /* a byte lets the command start */
    int   told; /* errno when exec failed; end of file when it did not */
} hu_launched;

/* Forks a child that waits for hu_launch_go.  0, or HU_EIO. */
int hu_launch_fork(char **argv, char **environment, const hu_launch_signals *signals, hu_launched *out, hu_error *err);

/* Lets it exec.  0, or the errno of exec: then the child has ended, and was reaped. */
int hu_launch_go(hu_launched *child);

#endif
