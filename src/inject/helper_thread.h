/* SPDX-License-Identifier: Apache-2.0
 * helper_thread.h - the life of a thread of ours in the program: it looks HU_HELPER_LOOKS times a second, and when woken.
 *
 * It begins once a process, detached, with all signals blocked, and nothing that it calls is recorded.  No function here
 * takes a lock.  Start, wake and end may come from any thread of the program; `end` from a signal handler, too.
 */
#ifndef HU_INJECT_HELPER_THREAD_H
#define HU_INJECT_HELPER_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#define HU_HELPER_LOOKS 40

typedef struct {
    const char *name;    /* as ps shows it, of 15 characters at most */
    void (*begin)(void); /* in the thread, once */
    /* One look.  false: there is more to do, it is called again at once.  `is_last`: the thread ends behind it. */
    bool (*look)(bool is_last);
    uint32_t state; /* where its life is: helper_thread.c */
    uint32_t calls; /* for it: the word that it sleeps on */
} hu_helper;

/* Starts the thread where it has not begun in this process.  false: there is none and will be none. */
bool hu_helper_start(hu_helper *t);

/* Soon, not in a moment: it looks now, or once more if it is just looking. */
void hu_helper_wake(hu_helper *t);

/* The last look, then the end; waits for that 3 s at most.  false: it still runs.  Nothing happens where none runs. */
bool hu_helper_end(hu_helper *t);

/* In a child: it has no such thread, and may start one. */
void hu_helper_forked(hu_helper *t);

/* CPU time of the calling thread so far, ns: of a helper, what it costs. */
uint64_t hu_helper_cpu_ns(void);

#endif
