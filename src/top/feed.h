/* SPDX-License-Identifier: Apache-2.0
 * feed.h - a thread that looks at a node again and again; whoever draws takes the last look and never waits for one. */
#ifndef HU_TOP_FEED_H
#define HU_TOP_FEED_H

#include <pthread.h>

#include "base/error.h"
#include "monitor/source.h"
#include "top/look.h"

enum { HU_TOP_STATE = 160, HU_TOP_NAME = 96 };

typedef struct hu_top_feed hu_top_feed;

/* What a kind of feed does in the thread. */
typedef struct {
    /* One look; it may take as long as it must, but ends soon after hu_top_feed_must_end.  NULL: `state` says why. */
    hu_top_look *(*look)(hu_top_feed *f, char state[HU_TOP_STATE]);
    /* Until the next look is due: at most `ms`. */
    void (*wait)(hu_top_feed *f, int ms);
    void (*close)(hu_top_feed *f); /* in the thread, at its end */
} hu_top_feed_kind;

struct hu_top_feed {
    const hu_top_feed_kind *kind;
    char                    name[HU_TOP_NAME]; /* of the node */
    pthread_t               thread;
    pthread_mutex_t         lock;
    hu_top_look            *fresh; /* not taken yet */
    char                    state[HU_TOP_STATE];
    _Atomic bool            must_end, wants_processes, is_now;
    _Atomic int64_t         interval_ns;
    void                   *own; /* of the kind */
};

/* This node: samplers in processes of our own, no monitor needs to run.  `how` outlives it.  NULL with a reason in err. */
hu_top_feed *hu_top_feed_local(const hu_source_options *how, int64_t interval_ns, hu_error *err);

/* A monitor on HOST[:PORT], by HTTP.  NULL with a reason in err. */
hu_top_feed *hu_top_feed_http(const char *address, int64_t interval_ns, hu_error *err);

/* The last look, which the caller owns then; NULL: none since.  `state`: what is wrong with the node now, "": nothing. */
hu_top_look *hu_top_feed_take(hu_top_feed *f, char state[HU_TOP_STATE]);

void hu_top_feed_set(hu_top_feed *f, int64_t interval_ns, bool wants_processes);

/* Ends all of them at once.  One that is stuck in a call of the system is left to the end of the process. */
void hu_top_feeds_close(hu_top_feed *const *feeds, size_t n);

/* ---- for kinds of feeds ---------------------------------------------------------------------------------------------- */

hu_top_feed *hu_top_feed_new(const hu_top_feed_kind *kind, const char *name, int64_t interval_ns, void *own, hu_error *err);
bool         hu_top_feed_must_end(const hu_top_feed *f);
int64_t      hu_top_now_ns(void); /* CLOCK_BOOTTIME */

#endif
