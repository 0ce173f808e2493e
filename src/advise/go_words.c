/* SPDX-License-Identifier: Apache-2.0
 * go_words.c - no accusation of a sleep or a lock: threads of Go wait because the scheduler has nothing for them to run. */
#include "advise/go_words.h"

#include <math.h>

#include "advise/say.h"

static const double LEAST_SHARE = 0.25;  /* of its life; less may be threads that were woken and not yet put on a CPU */
static const double LEAST_KERNEL = 0.30; /* of the samples, for the kernel's callers to be named, */
static const double MOSTLY = 0.5;        /* and of those, for one to be named alone */

enum { FEWEST_SAMPLES = 10 };

const char hu_go_wait_words[] = "waits in Go's scheduler, for what was not recorded";

bool hu_go_is_child_waiting(const hu_digest *d)
{
    const hu_host_process *child = d->host_time.is_recorded && !d->breakdown.has_device ? hu_host_time_child(&d->host_time)
                                                                                        : NULL;

    return child && child->is_go && (double)child->state_ns[HU_STATE_BLOCKED] >= MOSTLY * (double)child->wall_ns;
}

bool hu_go_is_program(const hu_digest *d)
{
    return d->host_time.is_recorded && d->host_time.go.is_go && !d->breakdown.has_device;
}

bool hu_go_is_waiting(const hu_digest *d)
{
    const hu_host_time *t = &d->host_time;

    return hu_go_is_program(d) && t->go.nobody_ns >= LEAST_SHARE * t->wall_ns && t->wall_ns > 0;
}

static void say_kernel(const hu_go_program *g, char *out, size_t room)
{
    const size_t n = strlen(out);

    if (g->samples < FEWEST_SAMPLES || (double)g->kernel_samples < LEAST_KERNEL * (double)g->samples ||
        (double)g->caller_samples < MOSTLY * (double)g->kernel_samples)
        return;
    snprintf(out + n, room - n, " %s of its CPU samples are in the kernel for %.*s%s%.*s%s.",
             hu_say_pct(100 * (double)g->caller_samples / (double)g->samples).t, (int)(g->caller.n < 60 ? g->caller.n : 60),
             g->caller.p, g->call.n ? " (" : "", (int)(g->call.n < 20 ? g->call.n : 20), g->call.n ? g->call.p : "",
             g->call.n ? ")" : "");
}

void hu_go_say(const hu_digest *d, char *out, size_t room)
{
    const hu_host_time *t = &d->host_time;
    const size_t        n = strlen(out);
    const hu_said_share s = hu_say_share(t->go.nobody_ns, t->wall_ns);

    if (hu_go_is_waiting(d))
        snprintf(out + n, room - n,
                 "No thread of this Go program runs for %s of the run (%s). Its goroutines wait then: for timers, channels, "
                 "mutexes or the network, which was not recorded. A block profile (runtime.SetBlockProfileRate) or go tool "
                 "trace shows where.",
                 s.pct, s.of);
    say_kernel(&t->go, out, room);
}

void hu_go_doubt(hu_findings *f, const hu_digest *d)
{
    if (!hu_go_is_program(d))
        return;
    for (size_t i = 0; i < f->n; i++) {
        hu_finding *x = &f->at[i];

        if (x->edit.kind == HU_EDIT_KINDS) { /* of samples of all threads, and states of all */
            x->confidence = HU_CONFIDENCE_LOW;
            continue;
        }
        x->confidence = HU_CONFIDENCE_LOW;
        x->low_pct = fmin(x->low_pct, 0);
        if (x->n_evidence == HU_EVIDENCE)
            x->n_evidence--; /* why it is no more than a guess is worth more than the fourth sign */
        snprintf(x->evidence[x->n_evidence++], HU_EVIDENCE_BYTES,
                 "priced on the main thread alone: goroutines move between threads, so others may do that work");
    }
}
