/* SPDX-License-Identifier: Apache-2.0
 * tally.c - four threads count events.  The cause: one lock for one shared count, taken for each event. */
#include "work.h"

#include <pthread.h>

enum { THREADS = 4, EVENTS = 2500000 };

static pthread_mutex_t tally_lock = PTHREAD_MUTEX_INITIALIZER;
static long            tally[16];
static bool            with;

__attribute__((noinline)) static void count_event(long *own, uint64_t kind)
{
    if (!with) {
        own[kind]++;
        return;
    }
    pthread_mutex_lock(&tally_lock);
    tally[kind]++;
    pthread_mutex_unlock(&tally_lock);
}

static void *count(void *argument)
{
    uint64_t x = (uint64_t)(uintptr_t)argument;
    long     own[16] = {0};

    for (int i = 0; i < EVENTS; i++) {
        x = work_mix(x, 10);
        count_event(own, x >> 60);
    }
    pthread_mutex_lock(&tally_lock);
    for (int i = 0; i < 16; i++)
        tally[i] += own[i];
    pthread_mutex_unlock(&tally_lock);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    with = work_begin(argc, argv);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", tally[3]);
    work_end();
    return 0;
}
