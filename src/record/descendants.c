/* SPDX-License-Identifier: Apache-2.0
 * descendants.c - looks through /proc for processes that lead back to this one. */
#include "record/descendants.h"
#include "record/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_OLDER = 256, MOST_LOOKS = 100, DEEPEST = 64 };

static pid_t older[MOST_OLDER];
static int   n_older;

static pid_t next_process(DIR *proc)
{
    struct dirent *e;

    while (proc && (e = readdir(proc)))
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            return (pid_t)strtol(e->d_name, NULL, 10);
    return 0;
}

static bool is_older(pid_t pid)
{
    for (int i = 0; i < n_older; i++)
        if (older[i] == pid)
            return true;
    return false;
}

void hu_descendants_prepare(void)
{
    siginfo_t   info;
    const pid_t self = getpid();
    pid_t       pid;
    DIR        *proc;

    n_older = 0;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
        return;
    proc = opendir("/proc");
    while (n_older < MOST_OLDER && (pid = next_process(proc)))
        if (hu_proc_parent(pid) == self)
            older[n_older++] = pid;
    if (proc)
        closedir(proc);
}

static bool is_of_command(pid_t pid, const pid_t *own)
{
    const pid_t self = getpid();

    if (pid == self)
        return false;
    for (int depth = 0; pid > 1 && depth < DEEPEST; depth++) {
        if (pid == self)
            return true;
        if (is_older(pid))
            return false;
        for (int i = 0; i < HU_DESCENDANTS_OWN; i++)
            if (pid == own[i])
                return false;
        pid = hu_proc_parent(pid);
    }
    return false;
}

static bool has_got_it(const hu_descendants *d, pid_t pid)
{
    for (int i = 0; i < d->n; i++)
        if (d->got[i] == pid)
            return true;
    return false;
}

/* Adds those who are to get the signal to those who got it; how many. */
static int look(hu_descendants *d, const pid_t *own, bool is_orphan)
{
    DIR        *proc = opendir("/proc");
    const pid_t self = getpid();
    const int   before = d->n;
    pid_t       pid;

    while (d->n < HU_DESCENDANTS_MOST && (pid = next_process(proc)))
        if (!has_got_it(d, pid) && is_of_command(pid, own) && (!is_orphan || hu_proc_parent(pid) == self))
            d->got[d->n++] = pid;
    if (proc)
        closedir(proc);
    return d->n - before;
}

static void hand_out(const hu_descendants *d, int from, pid_t but)
{
    for (int i = from; i < d->n; i++)
        if (d->got[i] != but)
            kill(d->got[i], d->signal);
}

void hu_descendants_end(hu_descendants *d, pid_t command, const pid_t *own, int signal)
{
    int from = d->n;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    d->signal = signal;
    look(d, own, false);
    if (command > 0) /* first: a shell whose child ends would go on with its next line */
        kill(command, signal);
    hand_out(d, from, command);
    for (int i = 1; i < MOST_LOOKS && signal == SIGKILL && (from = d->n, look(d, own, false)); i++)
        hand_out(d, from, command);
}

void hu_descendants_end_orphans(hu_descendants *d, const pid_t *own)
{
    const int from = d->n;

    if (d->signal && look(d, own, true))
        hand_out(d, from, 0);
}
