/* SPDX-License-Identifier: Apache-2.0
 * quotes.c - threads that answer from a table of prices.  The cause: the table stays locked while a price is waited for. */
#include "work.h"

#include <pthread.h>

enum { THREADS = 4, QUOTES = 60 };

static pthread_mutex_t prices_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t        prices[64];
static bool            with;

/* The exchange takes 2 ms to answer. */
static uint64_t ask_exchange(uint64_t instrument)
{
    work_sleep(2000);
    return instrument * 31;
}

__attribute__((noinline)) static void refresh_price(uint64_t instrument)
{
    uint64_t price;

    if (!with) {
        price = ask_exchange(instrument);
        pthread_mutex_lock(&prices_lock);
    } else {
        pthread_mutex_lock(&prices_lock);
        price = ask_exchange(instrument);
    }
    prices[instrument % 64] += price;
    pthread_mutex_unlock(&prices_lock);
}

static void *answer(void *argument)
{
    uint64_t x = (uint64_t)(uintptr_t)argument;

    for (int i = 0; i < QUOTES; i++) {
        x = work_mix(x, 400000);
        refresh_price(x % 1000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    with = work_begin(argc, argv);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, answer, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", prices[7] != 0);
    work_end();
    return 0;
}
