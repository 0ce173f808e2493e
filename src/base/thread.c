/* SPDX-License-Identifier: Apache-2.0
 * thread.c - a counter that threads draw from; no queue, because the jobs are known before the first one starts. */
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cgroup.h"
#include "base/number.h"

enum { MOST_PROCESSORS = 1 << 20 };

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

/* Processors in this process' mask, which the kernel refuses to write into less room than it needs. */
static int count_processors(void)
{
    for (size_t room = CPU_SETSIZE; room <= MOST_PROCESSORS; room *= 2) {
        const size_t bytes = CPU_ALLOC_SIZE(room);
        cpu_set_t   *set = CPU_ALLOC(room);
        int          n = 0, why = 0;

        if (!set)
            return 1;
        if (sched_getaffinity(0, bytes, set) == 0)
            n = CPU_COUNT_S(bytes, set);
        else
            why = errno;
        CPU_FREE(set);
        if (why != EINVAL)
            return n > 0 ? n : 1;
    }
    return 1;
}

int hu_thread_count_in(const char *root)
{
    const char *asked = getenv("HOLDUP_THREADS");
    int64_t     n, limit_milli;

    if (asked && hu_parse_i64(hu_str_of(asked), &n) && n >= 1 && n <= HU_THREADS_MOST)
        return (int)n;
    n = count_processors();
    limit_milli = n > 1 ? hu_cgroup_read(root).limit_milli : 0;
    if (limit_milli > 0 && (limit_milli + 999) / 1000 < n)
        n = (limit_milli + 999) / 1000;
    return (int)(n < HU_THREADS_MOST ? n : HU_THREADS_MOST);
}

/* The group's limit stands in several files below /proc and /sys, and every trace asks. */
int hu_thread_count(void)
{
    static atomic_int known;
    int               n = getenv("HOLDUP_THREADS") ? 0 : atomic_load_explicit(&known, memory_order_relaxed);

    if (n == 0) {
        n = hu_thread_count_in("");
        if (!getenv("HOLDUP_THREADS"))
            atomic_store_explicit(&known, n, memory_order_relaxed);
    }
    return n;
}

void hu_thread_each(size_t n, int threads, void (*job)(void *context, size_t i), void *context)
{
    work      w = {.n = n, .job = job, .context = context};
    pthread_t started[HU_THREADS_MOST];
    int       count = 0;

    while (count + 1 < threads && count + 1 < HU_THREADS_MOST && (size_t)count + 1 < n) {
        if (pthread_create(&started[count], NULL, draw, &w) != 0)
            break;
        count++;
    }
    draw(&w);
    for (int i = 0; i < count; i++)
        pthread_join(started[i], NULL);
}

typedef struct {
    atomic_size_t next;
    size_t        n;
    void (*job)(void *context, size_t worker, size_t i);
    void *context;
} dealing;

static void deal(void *context, size_t worker)
{
    dealing *d = context;
    size_t   i;

    while ((i = atomic_fetch_add(&d->next, 1)) < d->n)
        d->job(d->context, worker, i);
}

void hu_thread_deal(size_t workers, size_t n, void (*job)(void *context, size_t worker, size_t i), void *context)
{
    dealing d = {.n = n, .job = job, .context = context};

    hu_thread_each(workers, n > 1 ? (int)workers : 1, deal, &d);
}
