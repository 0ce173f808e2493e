/* SPDX-License-Identifier: Apache-2.0
 * thread.c - a counter that threads draw from; no queue, because the jobs are known before the first one starts. */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/number.h"

enum { MOST_THREADS = 256 };

typedef struct {
    atomic_size_t next;
    size_t        n;
    void (*job)(void *, size_t);
    void *context;
} work;

static void *draw(void *argument)
{
    work  *w = argument;
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n)
        w->job(w->context, i);
    return NULL;
}

int hu_thread_count(void)
{
    const char *asked = getenv("HOLDUP_THREADS");
    cpu_set_t   set;
    int64_t     n;

    if (asked && hu_parse_i64(hu_str_of(asked), &n) && n >= 1 && n <= MOST_THREADS)
        return (int)n;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set) < MOST_THREADS ? CPU_COUNT(&set) : MOST_THREADS;
    return 1;
}

void hu_thread_each(size_t n, int threads, void (*job)(void *context, size_t i), void *context)
{
    work      w = {.n = n, .job = job, .context = context};
    pthread_t started[MOST_THREADS];
    int       count = 0;

    while (count + 1 < threads && count + 1 < MOST_THREADS && (size_t)count + 1 < n) {
        if (pthread_create(&started[count], NULL, draw, &w) != 0)
            break;
        count++;
    }
    draw(&w);
    for (int i = 0; i < count; i++)
        pthread_join(started[i], NULL);
}
