/* SPDX-License-Identifier: Apache-2.0
 * config.c - three threads look routes up under a read lock, one replaces them.  The cause: the writer builds the new routes
 * (8 ms of waiting for their source) while it holds the write lock. */
#include "work.h"

#include <pthread.h>

enum { READERS = 3, LOOKUPS = 60 };

static pthread_rwlock_t routes_lock = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t         routes[256];
static bool             with, is_over;

static uint64_t build_routes(uint64_t seed)
{
    work_sleep(8000);
    return work_mix(seed, 20000);
}

__attribute__((noinline)) static void reload_routes(uint64_t seed)
{
    uint64_t fresh = with ? 0 : build_routes(seed);

    pthread_rwlock_wrlock(&routes_lock);
    if (with)
        fresh = build_routes(seed);
    routes[seed % 256] = fresh;
    pthread_rwlock_unlock(&routes_lock);
}

static void *reload(void *unused)
{
    for (int i = 0; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); i++) {
        reload_routes((uint64_t)i + 1);
        work_sleep(500);
    }
    return unused;
}

static void *look_up(void *argument)
{
    uint64_t x = (uint64_t)(uintptr_t)argument;

    for (int i = 0; i < LOOKUPS; i++) {
        x = work_mix(x, 900000);
        pthread_rwlock_rdlock(&routes_lock);
        x += routes[x % 256] & 1;
        pthread_rwlock_unlock(&routes_lock);
        work_sleep(1000);
    }
    return (void *)(uintptr_t)(x | 1);
}

int main(int argc, char **argv)
{
    pthread_t readers[READERS], writer;

    with = work_begin(argc, argv);
    pthread_create(&writer, NULL, reload, NULL);
    pthread_setname_np(writer, "reloader");
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, look_up, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    pthread_join(writer, NULL);
    printf("%d\n", routes[1] != 0);
    work_end();
    return 0;
}
