/* SPDX-License-Identifier: Apache-2.0
 * feed.c - the thread of a feed, and the look that it hands over. */
#include "top/feed.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SECOND_NS = 1000000000, MILLISECOND_NS = 1000000, WAIT_MS = 100, END_S = 2 };

int64_t hu_top_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool hu_top_feed_must_end(const hu_top_feed *f)
{
    return atomic_load(&f->must_end);
}

static void publish(hu_top_feed *f, hu_top_look *l, const char *state)
{
    hu_top_look *before;

    pthread_mutex_lock(&f->lock);
    before = l ? f->fresh : NULL;
    if (l)
        f->fresh = l;
    snprintf(f->state, sizeof f->state, "%s", state);
    pthread_mutex_unlock(&f->lock);
    hu_top_look_free(before);
}

static void wait_until(hu_top_feed *f, int64_t due_ns)
{
    for (;;) {
        const int64_t left_ms = (due_ns - hu_top_now_ns() + MILLISECOND_NS - 1) / MILLISECOND_NS;

        if (left_ms <= 0 || hu_top_feed_must_end(f) || atomic_exchange(&f->is_now, false))
            return;
        f->kind->wait(f, left_ms < WAIT_MS ? (int)left_ms : WAIT_MS);
    }
}

static void *run(void *context)
{
    hu_top_feed *f = context;
    int64_t      due_ns = hu_top_now_ns();

    while (!hu_top_feed_must_end(f)) {
        char          state[HU_TOP_STATE] = "";
        hu_top_look  *l = f->kind->look(f, state);
        const int64_t now = hu_top_now_ns(), interval = atomic_load(&f->interval_ns);

        if (l)
            l->at_s = (double)now / SECOND_NS;
        publish(f, l, state);
        due_ns = due_ns + interval < now ? now + interval
                                         : due_ns + interval; /* looks that were missed are not made up for */
        due_ns = due_ns > now + interval ? now + interval : due_ns;
        wait_until(f, due_ns);
    }
    f->kind->close(f);
    return NULL;
}

hu_top_feed *hu_top_feed_new(const hu_top_feed_kind *kind, const char *name, int64_t interval_ns, void *own, hu_error *err)
{
    hu_top_feed *f = calloc(1, sizeof *f);
    sigset_t     all, before;
    int          rc;

    if (!f) {
        hu_fail_memory(err);
        return NULL;
    }
    f->kind = kind;
    f->own = own;
    f->interval_ns = interval_ns;
    f->wants_processes = true;
    snprintf(f->name, sizeof f->name, "%s", name);
    pthread_mutex_init(&f->lock, NULL);
    sigfillset(&all); /* signals are the business of the thread that draws */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&f->thread, NULL, run, f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot start a thread for %s: error %d; raise ulimit -u", name, rc);
        pthread_mutex_destroy(&f->lock);
        free(f);
        return NULL;
    }
    return f;
}

hu_top_look *hu_top_feed_take(hu_top_feed *f, char state[HU_TOP_STATE])
{
    hu_top_look *l;

    pthread_mutex_lock(&f->lock);
    l = f->fresh;
    f->fresh = NULL;
    snprintf(state, HU_TOP_STATE, "%s", f->state);
    pthread_mutex_unlock(&f->lock);
    return l;
}

void hu_top_feed_set(hu_top_feed *f, int64_t interval_ns, bool wants_processes)
{
    const bool had = atomic_exchange(&f->wants_processes, wants_processes);

    atomic_store(&f->interval_ns, interval_ns);
    if (wants_processes && !had)
        atomic_store(&f->is_now, true);
}

static void give_back(hu_top_feed *f, const struct timespec *until)
{
    if (pthread_timedjoin_np(f->thread, NULL, until) != 0)
        return;
    hu_top_look_free(f->fresh);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

void hu_top_feeds_close(hu_top_feed *const *feeds, size_t n)
{
    struct timespec until;

    for (size_t i = 0; i < n; i++)
        atomic_store(&feeds[i]->must_end, true);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_S;
    for (size_t i = 0; i < n; i++)
        give_back(feeds[i], &until);
}
