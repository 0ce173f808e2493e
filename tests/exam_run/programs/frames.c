/* SPDX-License-Identifier: Apache-2.0
 * frames.c - one thread decodes frames, two filter them.  The cause: decoding is slow, and the filters wait for it. */
#include "work.h"

#include <pthread.h>

enum { FRAMES = 200, FILTERS = 2 };

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  queue_filled = PTHREAD_COND_INITIALIZER;
static uint64_t        queue[FRAMES];
static int             decoded, taken;
static bool            with;
static uint64_t        sum;

__attribute__((noinline)) static uint64_t decode_frame(uint64_t bits)
{
    return work_mix(bits, with ? 1800000 : 600000);
}

static void *decoder(void *unused)
{
    (void)unused;
    for (int i = 0; i < FRAMES; i++) {
        uint64_t frame = decode_frame((uint64_t)i + 1);

        pthread_mutex_lock(&queue_lock);
        queue[decoded++] = frame;
        pthread_cond_signal(&queue_filled);
        pthread_mutex_unlock(&queue_lock);
    }
    pthread_mutex_lock(&queue_lock);
    pthread_cond_broadcast(&queue_filled);
    pthread_mutex_unlock(&queue_lock);
    return NULL;
}

static void *filter(void *unused)
{
    (void)unused;
    for (;;) {
        uint64_t frame;

        pthread_mutex_lock(&queue_lock);
        while (taken == decoded && decoded < FRAMES)
            pthread_cond_wait(&queue_filled, &queue_lock);
        if (taken == FRAMES)
            break;
        frame = queue[taken++];
        pthread_mutex_unlock(&queue_lock);
        frame = work_mix(frame, 300000);
        __atomic_fetch_add(&sum, frame & 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&queue_lock);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[FILTERS + 1];

    with = work_begin(argc, argv);
    pthread_create(&threads[0], NULL, decoder, NULL);
    pthread_setname_np(threads[0], "decoder");
    for (int i = 1; i <= FILTERS; i++) {
        pthread_create(&threads[i], NULL, filter, NULL);
        pthread_setname_np(threads[i], "filter");
    }
    for (int i = 0; i <= FILTERS; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", taken);
    work_end();
    return 0;
}
