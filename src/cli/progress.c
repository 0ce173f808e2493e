/* SPDX-License-Identifier: Apache-2.0
 * progress.c - a thread that looks at a counter ten times a second, so that the scanner need not look at a clock. */
#include "cli/progress.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 100, QUIET_TICKS = 10, CELLS = 30 };

struct hu_progress_bar {
    hu_progress    *progress;
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  wake;
    bool            stop;
};

static void draw(const hu_progress *p)
{
    const uint64_t done = atomic_load_explicit(&p->done_bytes, memory_order_relaxed);
    const double   share = p->total_bytes && done <= p->total_bytes ? (double)done / (double)p->total_bytes : 1;
    char           bar[CELLS + 1];

    if (!p->total_bytes) {
        fprintf(stderr, "\rreading %llu MB", (unsigned long long)(done / 1000000));
        return;
    }
    for (int i = 0; i < CELLS; i++)
        bar[i] = i < (int)(share * CELLS) ? '#' : '.';
    bar[CELLS] = '\0';
    fprintf(stderr, "\r%s %3d %% of %llu MB", bar, (int)(100 * share), (unsigned long long)(p->total_bytes / 1000000));
}

static void *tick(void *argument)
{
    hu_progress_bar *b = argument;
    int              ticks = 0;
    struct timespec  until;

    clock_gettime(CLOCK_REALTIME, &until);
    pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        until.tv_nsec += TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&b->wake, &b->lock, &until);
        if (!b->stop && ++ticks > QUIET_TICKS)
            draw(b->progress);
    }
    pthread_mutex_unlock(&b->lock);
    if (ticks > QUIET_TICKS)
        fprintf(stderr, "\r%*s\r", CELLS + 24, "");
    return NULL;
}

hu_progress_bar *hu_progress_start(hu_progress *progress, bool is_quiet)
{
    hu_progress_bar *b;

    if (is_quiet || !isatty(STDERR_FILENO) || !(b = calloc(1, sizeof *b)))
        return NULL;
    b->progress = progress;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->wake, NULL);
    if (pthread_create(&b->thread, NULL, tick, b) != 0) {
        free(b);
        return NULL;
    }
    return b;
}

void hu_progress_stop(hu_progress_bar *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_signal(&b->wake);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->wake);
    pthread_mutex_destroy(&b->lock);
    free(b);
}
