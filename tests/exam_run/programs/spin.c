/* SPDX-License-Identifier: Apache-2.0
 * spin.c - two threads book seats under a spin lock.  The cause: the price is worked out while the lock is held. */
#include "work.h"

#include <pthread.h>

enum { THREADS = 2, BOOKINGS = 220 };

static pthread_spinlock_t seats_lock;
static uint64_t           seats;
static bool               with;

__attribute__((noinline)) static uint64_t price_seat(uint64_t x)
{
    return work_mix(x, 1000000);
}

__attribute__((noinline)) static void book_seat(uint64_t x)
{
    uint64_t price = with ? 0 : price_seat(x);

    pthread_spin_lock(&seats_lock);
    seats += (with ? price_seat(x) : price) & 1;
    pthread_spin_unlock(&seats_lock);
}

static void *book(void *argument)
{
    for (int i = 0; i < BOOKINGS; i++)
        book_seat((uint64_t)(uintptr_t)argument + (uint64_t)i);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    with = work_begin(argc, argv);
    pthread_spin_init(&seats_lock, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, book, (void *)(uintptr_t)(i * 1000 + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%llu\n", (unsigned long long)seats);
    work_end();
    return 0;
}
