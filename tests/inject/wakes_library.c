/* SPDX-License-Identifier: Apache-2.0
 * wakes_library.c - a lock of a library that is opened while the program runs: its own 20 ms of waiting. */
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock_of_library = PTHREAD_MUTEX_INITIALIZER;

static void *holds(void *has_it)
{
    pthread_mutex_lock(&lock_of_library);
    *(volatile int *)has_it = 1;
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    pthread_mutex_unlock(&lock_of_library);
    return NULL;
}

int waits_in_library(void)
{
    static volatile int has_it;
    pthread_t           thread;
    int                 rc;

    pthread_create(&thread, NULL, holds, (void *)&has_it);
    while (!has_it)
        ;
    rc = pthread_mutex_lock(&lock_of_library);
    rc += pthread_mutex_unlock(&lock_of_library);
    pthread_join(thread, NULL);
    return rc;
}
