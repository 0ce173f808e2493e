/* SPDX-License-Identifier: Apache-2.0
 * descendants.h - sends a signal to all that a command has started, whatever it forks meanwhile. */
#ifndef HU_RECORD_DESCENDANTS_H
#define HU_RECORD_DESCENDANTS_H

#include <sys/types.h>

enum {
    HU_DESCENDANTS_MOST = 4096, /* processes that get the signal */
    HU_DESCENDANTS_OWN = 2,     /* helpers of the caller: its children, but not the command's */
};

/* All zero: no signal was sent. */
typedef struct {
    int   signal;
    int   n; /* processes that got it, */
    pid_t got[HU_DESCENDANTS_MOST];
} hu_descendants;

/* Notes the children that this process has before the command: of a shell that became this program by exec.  They get no
 * signal.  Before the fork of the command. */
void hu_descendants_prepare(void);

/*
 * Sends SIGKILL or SIGTERM to the command (0: it has ended, and was reaped) and to its descendants, not to those who
 * started us nor to `own` (0: none).  From now on, what a process of the command leaves behind becomes a child of this
 * one: what is forked while the others are looked for is found by the next look.  SIGKILL is sent until a look finds
 * nobody new.  SIGTERM is sent once: who handles it may start what cleans up.
 */
void hu_descendants_end(hu_descendants *d, pid_t command, const pid_t *own, int signal);

/* After the command's end: sends that signal, if any was sent, to those who have not got it and whose parent has ended. */
void hu_descendants_end_orphans(hu_descendants *d, const pid_t *own);

#endif
