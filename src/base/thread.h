/* SPDX-License-Identifier: Apache-2.0
 * thread.h - run independent jobs on a few threads; results are the caller's, in the order of the inputs. */
#ifndef HU_BASE_THREAD_H
#define HU_BASE_THREAD_H

#include <stddef.h>

enum { HU_THREADS_MOST = 256 };

/*
 * How many threads to use: HOLDUP_THREADS when it is 1..256, else the processors that this process may run on, but no more
 * than its control group gives it time of: more threads would only be stopped for the rest of each period.
 */
int hu_thread_count(void);

/* The same; `root` stands before the paths of control groups: "" outside of tests. */
int hu_thread_count_in(const char *root);

/*
 * Calls job(context, i) once for every i in [0, n) on at most `threads` threads and returns when all are done.
 * Jobs are taken in order.  Runs in the calling thread when a thread cannot be started, so it never fails.
 */
void hu_thread_each(size_t n, int threads, void (*job)(void *context, size_t i), void *context);

/* The same on `workers` threads, each with something of its own: no worker has two jobs at a time. */
void hu_thread_deal(size_t workers, size_t n, void (*job)(void *context, size_t worker, size_t i), void *context);

#endif
