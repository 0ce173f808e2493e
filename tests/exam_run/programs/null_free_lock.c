/* SPDX-License-Identifier: Apache-2.0
 * null_free_lock.c - computes in main.  Not a cause: a lock around each step that nobody else ever wants. */
#include "work.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static uint64_t rotate(uint64_t x)
{
    return work_mix(x, 700);
}

__attribute__((noinline)) static uint64_t scale(uint64_t x)
{
    return work_mix(x + 2, 700);
}

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    uint64_t x = 1;

    for (int i = 0; i < 250000; i++) {
        if (with)
            pthread_mutex_lock(&lock);
        x = scale(rotate(x));
        if (with)
            pthread_mutex_unlock(&lock);
    }
    printf("%llu\n", (unsigned long long)x);
    work_end();
    return 0;
}
