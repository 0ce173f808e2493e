/* SPDX-License-Identifier: Apache-2.0
 * tally.c - four threads count events.  The cause: one lock for one shared count, taken for each event. */
#include "work.h"

#include <pthread.h>

enum { THREADS = 4, EVENTS = 700000, KINDS = 64 };

static pthread_mutex_t tally_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t        tally[KINDS];
static bool            with;

/* Finds the place of an event in a table, and counts it there. */
static void enter(uint64_t *table, uint64_t event)
{
    table[work_mix(event, 40) % KINDS]++;
}

__attribute__((noinline)) static void count_event(uint64_t *own, uint64_t event)
{
    if (!with) {
        enter(own, event);
        return;
    }
    pthread_mutex_lock(&tally_lock);
    enter(tally, event);
    pthread_mutex_unlock(&tally_lock);
}

static void *count(void *argument)
{
    uint64_t x = (uint64_t)(uintptr_t)argument;
    uint64_t own[KINDS] = {0};

    for (int i = 0; i < EVENTS; i++) {
        x = work_mix(x, 150);
        count_event(own, x);
    }
    pthread_mutex_lock(&tally_lock);
    for (int i = 0; i < KINDS; i++)
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
    printf("%llu\n", (unsigned long long)tally[3]);
    work_end();
    return 0;
}
