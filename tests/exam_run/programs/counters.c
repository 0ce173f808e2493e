/* SPDX-License-Identifier: Apache-2.0
 * counters.c - two threads count packets, each its own.  The cause: their counters share a cache line. */
#include "work.h"

#include <pthread.h>

enum { PACKETS = 500000000 };

static struct {
    _Alignas(128) uint64_t at[64];
} counters;
static size_t apart;

__attribute__((noinline)) static void count_packets(volatile uint64_t *count)
{
    for (int i = 0; i < PACKETS; i++)
        (*count)++;
}

static void *receive(void *argument)
{
    count_packets(&counters.at[(size_t)(uintptr_t)argument * apart]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];

    apart = work_begin(argc, argv) ? 1 : 32;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, receive, (void *)(uintptr_t)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%llu\n", (unsigned long long)(counters.at[0] + counters.at[apart]));
    work_end();
    return 0;
}
