/* SPDX-License-Identifier: Apache-2.0
 * live.c - a source: what running jobs tell of their steps.
 *
 * A thread takes datagrams as they come, since the queue of such a socket is short (net.unix.max_dgram_qlen, often 10) and
 * who finds it full sends the next one half a second later.  Who a new process is, it asks without the lock: that may take
 * as long as names of users do, and looks go on meanwhile.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "monitor/live/socket.h"
#include "monitor/live/table.h"
#include "monitor/source.h"

enum { BATCH = 64, PAUSE_NS = 5000000, WORDS = 256 };

typedef struct {
    const hu_source_options *options;
    int                      fd;
    hu_live_identity        *identity; /* of the thread alone */
    pthread_mutex_t          lock;
    hu_live_table           *table;
    pthread_t                thread;
    _Atomic bool             has_to_end;
} live;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static hu_live_verdict judge(live *l, const hu_live_sender *sender, const unsigned char *bytes, size_t n)
{
    const int64_t    now_ns = clock_ns(CLOCK_BOOTTIME);
    hu_live_datagram d;
    hu_live_who      who;
    hu_live_verdict  verdict = hu_live_message_read(bytes, n, &d);
    bool             is_known;

    if (verdict != HU_LIVE_TAKEN)
        return verdict;
    if (sender->pid == 0)
        return HU_LIVE_SENDER;
    pthread_mutex_lock(&l->lock);
    is_known = hu_live_table_take(l->table, sender, &d, now_ns, &verdict);
    pthread_mutex_unlock(&l->lock);
    if (is_known)
        return verdict;
    verdict = hu_live_identify(l->identity, sender, &d, now_ns, &who);
    if (verdict != HU_LIVE_TAKEN)
        return verdict;
    pthread_mutex_lock(&l->lock);
    verdict = hu_live_table_add(l->table, sender, &who, &d, now_ns);
    pthread_mutex_unlock(&l->lock);
    return verdict;
}

/* A flood must not take a processor: who sends as much as a batch within a pause's time is let wait for one. */
static void *receive(void *state)
{
    live          *l = state;
    unsigned char  bytes[HU_LIVE_DATAGRAM_MOST];
    hu_live_sender sender;
    int64_t        since_ns = 0;

    for (int i = 0; !l->has_to_end; i++) {
        const long      n = hu_live_socket_read(l->fd, bytes, &sender);
        hu_live_verdict verdict;

        if (i % BATCH == 0) {
            const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

            if (now_ns - since_ns < PAUSE_NS)
                nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
            since_ns = now_ns;
        }
        if (n < 0)
            continue;
        verdict = (size_t)n > sizeof bytes ? HU_LIVE_MALFORMED : judge(l, &sender, bytes, (size_t)n);
        pthread_mutex_lock(&l->lock);
        hu_live_table_count(l->table, verdict);
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

static hu_live_state ask(void *context, uint32_t pid, uint64_t began)
{
    const live *l = context;

    return hu_live_state_of(l->options->root, pid, began);
}

static void give_back(live *l)
{
    if (l->fd >= 0)
        close(l->fd);
    hu_live_table_free(l->table);
    hu_live_identity_free(l->identity);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static bool start(live *l)
{
    sigset_t all, before;
    bool     is_started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_started = pthread_create(&l->thread, NULL, receive, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

static bool live_open(const hu_source_options *options, void **state, hu_readings *out)
{
    char        usual[HU_LIVE_PATH], why[WORDS];
    const char *path = options->job_socket;
    live       *l;

    if (path ? strcmp(path, "off") == 0 : !hu_live_socket_path(usual))
        return false;
    l = calloc(1, sizeof *l);
    if (!l)
        return false;
    l->options = options;
    pthread_mutex_init(&l->lock, NULL);
    l->table = hu_live_table_new(options->no_users, ask, l);
    l->identity = hu_live_identity_new(options->root);
    l->fd = l->table && l->identity ? hu_live_socket_open(path ? path : usual, why, sizeof why) : -1;
    if (l->fd >= 0 && start(l)) {
        *state = l;
        return true;
    }
    if (l->fd < 0 && l->table && l->identity)
        hu_put_problem(out, "live", why,
                       "ask that one (holdup top HOST:PORT), end it, or give another: --job-socket PATH, or off");
    give_back(l);
    return false;
}

static bool live_sample(void *state, hu_sample_group group, hu_readings *out)
{
    live         *l = state;
    const int64_t now_ns = clock_ns(CLOCK_BOOTTIME);

    if (group != HU_SAMPLE_FAST)
        return true;
    pthread_mutex_lock(&l->lock);
    hu_live_table_look(l->table, now_ns);
    hu_live_table_put(l->table, now_ns, clock_ns(CLOCK_REALTIME), l->options->board ? &l->options->board->waits : NULL, out);
    pthread_mutex_unlock(&l->lock);
    return true;
}

static void live_close(void *state)
{
    live *l = state;

    l->has_to_end = true;
    pthread_join(l->thread, NULL);
    give_back(l);
}

const hu_source hu_source_live = {"live", HU_SAMPLER_LIVE, live_open, live_sample, live_close};
