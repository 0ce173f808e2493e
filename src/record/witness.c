/* SPDX-License-Identifier: Apache-2.0
 * witness.c - a process whose pending signals are read from /proc. */
#include "record/witness.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/close_fds.h"
#include "record/proc.h"

enum { OTHERS_NS = 10000000 };

_Noreturn static void stand_by(pid_t parent)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "holdup-witness");
    if (getppid() != parent)
        _exit(0);
    hu_close_fds(0, -1); /* nobody's pipe stays open for us */
    for (;;)
        sigsuspend(&all);
}

void hu_witness_start(hu_witness *witness)
{
    const pid_t self = getpid();
    sigset_t    all, before;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* what comes between fork and its own mask is pending too */
    witness->pid = fork();
    if (witness->pid == 0)
        stand_by(self);
    if (witness->pid < 0)
        witness->pid = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void hu_witness_end(hu_witness *witness)
{
    if (witness->pid <= 0)
        return;
    kill(witness->pid, SIGKILL);
    while (waitpid(witness->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    witness->pid = 0;
}

bool hu_witness_saw(hu_witness *witness, int signal)
{
    const struct timespec others = {0, OTHERS_NS};

    if (witness->pid <= 0)
        return false;
    nanosleep(&others, NULL);
    if (!(hu_proc_signals(witness->pid, "ShdPnd:") >> (signal - 1) & 1))
        return false;
    hu_witness_end(witness);
    hu_witness_start(witness);
    return true;
}
