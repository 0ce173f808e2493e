/* SPDX-License-Identifier: Apache-2.0
 * threads.c - the first markers of a program come from eight threads at once, and ranges end on other threads than they began on. */
#include "holdup_annotate.h"

#include <pthread.h>
#include <stddef.h>

enum { THREADS = 8, TIMES = 200 };

static pthread_barrier_t together;
static holdup_name       shared = HOLDUP_NAME("shared");
static holdup_range_id   open_range;

static void *work(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&together);
    for (int i = 0; i < TIMES; i++) {
        holdup_range_push_name(&shared);
        holdup_range_pop();
    }
    return NULL;
}

static void *end_it(void *unused)
{
    (void)unused;
    holdup_range_end(open_range);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];

    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    open_range = holdup_range_start("elsewhere");
    pthread_create(&thread[0], NULL, end_it, NULL);
    pthread_join(thread[0], NULL);
    return 0;
}
