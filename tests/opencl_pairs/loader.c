/* SPDX-License-Identifier: Apache-2.0
 * loader.c - threads make batches, the main thread takes them one by one and gives them to the device.
 *
 *     storage N    N threads ask a storage that answers after 9 ms (they sleep)
 *     slow         one thread decodes each sample by a formula, some 8 ms for a batch
 *     unwaited     as slow, and the main thread waits for the step before, not for this one: the loader is as slow as ever
 *     table        one thread looks up in a table what the formula gives
 *     hidden       as slow, and the kernel takes longer than the decoding: the batch is always there
 *     hidden-table the same, looked up
 *
 * One thread of the device next to those of the host. A queue of two batches for each thread, and two that the device may have. */
#include "pair.h"

#include <pthread.h>
#include <string.h>

enum {
    ITEMS = 16 * PAIR_LANES,
    ROUNDS = 3000,
    HIDDEN_ROUNDS = 15000,
    DECODE_ROUNDS = 5500,
    STORAGE_NS = 9 * 1000 * 1000,
    MOST_THREADS = 4,
    PLACES = 2 * MOST_THREADS + 2,
    VALUES = 256
};

/* Batch n lies at place n % PLACES; `begun`, `taken` and `given` (back) count batches. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t  filled, freed;
    uint32_t        batch[PLACES][ITEMS];
    bool            ready[PLACES];
    int             begun, taken, given, end, places;
    uint32_t        table[VALUES]; /* what the formula makes of each value */
    bool            sleeps, computes;
} loader;

/* Makes a batch: the same numbers in any way. */
static void make(const loader *l, int number, uint32_t *batch)
{
    const struct timespec wait = {0, STORAGE_NS};

    if (l->sleeps)
        nanosleep(&wait, NULL);
    for (uint32_t i = 0; i < ITEMS; i++) {
        const uint32_t sample = ((uint32_t)number * 7 + i) % VALUES;

        batch[i] = l->computes ? pair_host_work(sample, DECODE_ROUNDS) : l->table[sample];
    }
}

/* Where the program runs before all others, the main thread still runs before its loader, as a fair scheduler would have it. */
static void step_back(void)
{
    struct sched_param param;
    int                policy;

    if (pthread_getschedparam(pthread_self(), &policy, &param) != 0 || policy != SCHED_FIFO || param.sched_priority < 2)
        return;
    param.sched_priority--;
    (void)pthread_setschedparam(pthread_self(), policy, &param);
}

static void *work(void *argument)
{
    loader *const l = argument;

    step_back();
    for (;;) {
        int number;

        pthread_mutex_lock(&l->lock);
        while (l->begun < l->end && l->begun >= l->given + l->places)
            pthread_cond_wait(&l->freed, &l->lock);
        number = l->begun++;
        pthread_mutex_unlock(&l->lock);
        if (number >= l->end)
            return NULL;
        make(l, number, l->batch[number % PLACES]);
        pthread_mutex_lock(&l->lock);
        l->ready[number % PLACES] = true;
        pthread_cond_signal(&l->filled);
        pthread_mutex_unlock(&l->lock);
    }
}

/* The next batch; it stays until give_back(), which takes them in the same order. */
static const uint32_t *take(loader *l)
{
    const int place = l->taken++ % PLACES;

    holdup_phase_push(HOLDUP_PHASE_DATA);
    pthread_mutex_lock(&l->lock);
    while (!l->ready[place])
        pthread_cond_wait(&l->filled, &l->lock);
    pthread_mutex_unlock(&l->lock);
    holdup_phase_pop();
    return l->batch[place];
}

static void give_back(loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->ready[l->given % PLACES] = false;
    l->given++;
    pthread_cond_broadcast(&l->freed);
    pthread_mutex_unlock(&l->lock);
}

/* Waits for the results of a step, whose batch is then not needed any more. */
static void finish(pair *p, loader *l, cl_event *read, const uint32_t *results)
{
    PAIR_OK(clWaitForEvents(1, read));
    clReleaseEvent(*read);
    *read = NULL;
    give_back(l);
    pair_add(p, results, ITEMS);
}

int main(int argc, char **argv)
{
    static pair   p;
    static loader l = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .freed = PTHREAD_COND_INITIALIZER};
    static uint32_t results[2][ITEMS];
    cl_event        read[2] = {NULL, NULL};
    pthread_t       thread[MOST_THREADS];
    cl_mem          in, out;
    cl_kernel       kernel;
    uint32_t        rounds, last = 0;
    int             threads;

    pair_open(&p, argc, argv, "1", 100);
    threads = argc > 3 ? atoi(argv[3]) : 1;
    if (threads < 1 || threads > MOST_THREADS)
        pair_fail("threads", threads);
    kernel = pair_kernel(&p);
    in = pair_buffer(&p, sizeof results[0]);
    out = pair_buffer(&p, sizeof results[0]);
    rounds = strncmp(p.word, "hidden", 6) == 0 ? HIDDEN_ROUNDS : ROUNDS;
    l.sleeps = strcmp(p.word, "storage") == 0;
    l.computes = strcmp(p.word, "slow") == 0 || strcmp(p.word, "unwaited") == 0 || strcmp(p.word, "hidden") == 0;
    for (uint32_t i = 0; i < VALUES; i++)
        l.table[i] = pair_host_work(i, DECODE_ROUNDS);
    l.end = p.steps + PAIR_WARM_UP;
    l.places = 2 * threads + 2;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, work, &l) != 0)
            pair_fail("pthread_create", i);
    for (int i = -PAIR_WARM_UP; i < p.steps; i++) {
        const int       now = i & 1, done = strcmp(p.word, "unwaited") == 0 ? 1 - now : now;
        const uint32_t *batch;

        pair_step(&p, i);
        batch = take(&l);
        last = batch[ITEMS / 2];
        PAIR_OK(clEnqueueWriteBuffer(p.queue, in, CL_FALSE, 0, sizeof results[0], batch, 0, NULL, NULL));
        pair_churn(p.queue, kernel, in, out, (uint32_t)i, rounds, 1, ITEMS, 0, NULL);
        PAIR_OK(clEnqueueReadBuffer(p.queue, out, CL_FALSE, 0, sizeof results[0], results[now], 0, NULL, &read[now]));
        PAIR_OK(clFlush(p.queue));
        if (done == now)
            PAIR_OK(clFinish(p.queue));
        if (read[done] != NULL)
            finish(&p, &l, &read[done], results[done]);
    }
    if (read[(p.steps - 1) & 1] != NULL)
        finish(&p, &l, &read[(p.steps - 1) & 1], results[(p.steps - 1) & 1]);
    pair_step(&p, p.steps);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    return pair_close(&p, results[(p.steps - 1) & 1][ITEMS / 2], pair_churned(last, (uint32_t)p.steps - 1, rounds));
}
