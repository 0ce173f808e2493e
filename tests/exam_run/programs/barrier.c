/* SPDX-License-Identifier: Apache-2.0
 * barrier.c - two threads meet at a barrier after each step.  The cause: one has three times the work of the other. */
#include "work.h"

#include <pthread.h>

enum { STEPS = 60 };

static pthread_barrier_t step_end;
static bool              with;
static uint64_t          results[2];

__attribute__((noinline)) static uint64_t advance(uint64_t x, long rounds)
{
    return work_mix(x, rounds);
}

static void *simulate(void *argument)
{
    size_t   me = (size_t)(uintptr_t)argument;
    uint64_t x = me + 1;

    for (int i = 0; i < STEPS; i++) {
        x = advance(x, !with ? 4000000 : me ? 6000000 : 2000000);
        pthread_barrier_wait(&step_end);
    }
    results[me] = x;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];

    with = work_begin(argc, argv);
    pthread_barrier_init(&step_end, NULL, 2);
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, simulate, (void *)(uintptr_t)i);
        pthread_setname_np(threads[i], i ? "ocean" : "air");
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", results[0] != results[1]);
    work_end();
    return 0;
}
