/* SPDX-License-Identifier: Apache-2.0
 * blind.c - that no fix was found says something only where the graph shows what the step waits for.
 */
#include "advise/blind.h"

#include <stdio.h>

#include "advise/go_words.h"
#include "advise/say.h"

static const double MOST_UNLAUNCHED = 0.5; /* of the GPU operations of the window */
static const double MOST_IDLE = 0.10;      /* of the step; as the verdict's limit for naming a share */
static const double MOST_WAITING = 0.8;    /* of the lives of the threads that the main one waits for */
static const double MOST_UNSEEN = 0.30;    /* of the step: so much waiting without a name may be what a fix is for */

bool hu_blind_to_launches(const hu_graph *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n_ops; i++)
        n += !g->op[i].has_launch && !g->op[i].in_graph;
    return (double)n > MOST_UNLAUNCHED * (double)g->n_ops;
}

/* Does the main thread wait for threads that themselves wait, for a pipe, a descriptor or each other? */
static bool is_waiting_for_waiters(const hu_host_time *t)
{
    double waits = 0, all = 0;

    if (!(t->state_ns[HU_HOST_WAIT] >= MOST_UNSEEN * t->step_ns) || !t->n_threads)
        return false;
    for (size_t i = 0; i < t->n_threads; i++) {
        const int64_t *ns = t->threads[i].state_ns;

        all += (double)t->threads[i].wall_ns;
        waits += (double)(ns[HU_HOST_PIPE] + ns[HU_HOST_POLL] + ns[HU_HOST_WAIT] + ns[HU_HOST_LOCK] + ns[HU_STATE_BLOCKED]);
    }
    return waits >= MOST_WAITING * all;
}

hu_blind hu_blind_of(const hu_digest *d, const hu_graph *g)
{
    const hu_step_time *t = hu_digest_step_time(d);
    const int64_t       unlaunched = g->calibration.unlaunched;
    hu_blind            said = {""};

    if (d->health.missing & 1u << HU_MISSING_DEVICE)
        snprintf(said.t, sizeof said.t, "no GPU operation was recorded");
    else if (g->n_ops && (double)unlaunched > MOST_UNLAUNCHED * (double)g->n_ops)
        snprintf(said.t, sizeof said.t, "%s of %s GPU operations have no launch in the replayed time",
                 hu_say_count(unlaunched).t, hu_say_count((int64_t)g->n_ops).t);
    else if (t && d->breakdown.has_device && t->idle_ns >= MOST_IDLE * t->step_ns)
        snprintf(said.t, sizeof said.t, "what the GPU waits for was not recorded");
    else if (hu_go_is_waiting(d) || hu_go_is_child_waiting(d))
        snprintf(said.t, sizeof said.t, "what goroutines wait for was not recorded");
    else if (hu_go_is_program(d))
        snprintf(said.t, sizeof said.t, "goroutines move between threads, and in which order they work was not recorded");
    else if (t && !d->breakdown.has_device && d->host_time.state_ns[HU_STATE_BLOCKED] >= MOST_UNSEEN * t->step_ns)
        snprintf(said.t, sizeof said.t, "what its main thread waits for was not recorded");
    else if (t && !d->breakdown.has_device && is_waiting_for_waiters(&d->host_time))
        snprintf(said.t, sizeof said.t,
                 "the main thread waits for threads that wait for pipes, descriptors or each other, and for whom was not "
                 "recorded");
    return said;
}
