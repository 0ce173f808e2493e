/* SPDX-License-Identifier: Apache-2.0
 * null_twins.c - two threads with equal work.  Not a cause: what each of them waits for at its end. */
#include "work.h"

#include <pthread.h>

static uint64_t sums[2];

__attribute__((noinline)) static uint64_t sweep_even(uint64_t x)
{
    return work_mix(x, 3000000);
}

__attribute__((noinline)) static uint64_t sweep_odd(uint64_t x)
{
    return work_mix(x + 5, 3000000);
}

static void *sweep(void *argument)
{
    uint64_t *sum = argument;

    for (int i = 0; i < 70; i++)
        *sum += sweep_odd(sweep_even((uint64_t)i + 1));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];

    work_begin(argc, argv);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, sweep, &sums[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%llu\n", (unsigned long long)(sums[0] + sums[1]));
    work_end();
    return 0;
}
