/* SPDX-License-Identifier: Apache-2.0
 * contend.c - a job of threads with one planted cause: contend sleep|file|lock|none STEPS
 *
 * Each step does some 4 ms of work (marked "compute").  sleep: and sleeps 8 ms in "cool_down"; file: and writes and syncs
 * 4 MiB to a file that it is given; lock: and waits for a lock that a second thread holds 8 ms at a time; none: nothing.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "holdup_annotate.h"

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static volatile int    is_over;

static void spin_ms(double ms)
{
    struct timespec a, b;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    while ((double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6 < ms);
}

static void sleep_ms(long ms)
{
    const struct timespec t = {0, ms * 1000000};

    nanosleep(&t, NULL);
}

static void *hog(void *unused)
{
    (void)unused;
    while (!is_over) {
        pthread_mutex_lock(&shared);
        sleep_ms(8);
        pthread_mutex_unlock(&shared);
        sleep_ms(1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "none";
    const int   steps = argc > 2 ? atoi(argv[2]) : 20;
    char       *data = calloc(4, 1 << 20);
    pthread_t   thread;
    int         fd = -1;

    if (strcmp(what, "file") == 0 && (fd = open(argv[3], O_CREAT | O_WRONLY | O_TRUNC, 0600)) < 0)
        return 1;
    if (strcmp(what, "lock") == 0)
        pthread_create(&thread, NULL, hog, NULL);
    for (int i = 0; i < steps; i++) {
        holdup_step_number(i);
        holdup_range_push("compute");
        spin_ms(4);
        holdup_range_pop();
        if (strcmp(what, "sleep") == 0) {
            holdup_range_push("cool_down");
            sleep_ms(8);
            holdup_range_pop();
        }
        if (fd >= 0 && (lseek(fd, 0, SEEK_SET) < 0 || write(fd, data, 4 << 20) != 4 << 20 || fsync(fd) != 0))
            return 2;
        if (strcmp(what, "lock") == 0) {
            pthread_mutex_lock(&shared);
            pthread_mutex_unlock(&shared);
        }
    }
    holdup_step_end();
    is_over = 1;
    if (strcmp(what, "lock") == 0)
        pthread_join(thread, NULL);
    puts("done");
    free(data);
    return 0;
}
