/* SPDX-License-Identifier: Apache-2.0
 * small_pool.c - waits of many threads cost nothing beside each other: more of them at a time make the run shorter. */
#include "advise/small_pool.h"

#include <math.h>

#include "advise/gates.h"
#include "advise/say_thread.h"
#include "analyze/host_calls.h"
#include "analyze/thread_states.h"
#include "analyze/waiting_pool.h"

enum { CALL = 40, PEER = 60 };

static const double LEAST_SHARE = 0.25; /* of the run, on the critical path */
static const double FEWEST = 1.5;       /* threads at a time */
static const double LEAST_GAIN = 5;     /* percent: where nearly all requests are out at once, more threads are no help */
static const double SAME = 0.5;         /* of what io-stall would save, for it to be about the same waits */

static void drop_same(hu_findings *f, double pct)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].rule == HU_RULE_IO_STALL && pct >= SAME * f->at[i].gain_pct) {
            memmove(&f->at[i], &f->at[i + 1], (--f->n - i) * sizeof *f->at);
            return;
        }
}

/* Of the critical path, on other threads than the main one: cheap, and rules most runs out. */
static int64_t path_elsewhere(const hu_simulation *s, uint32_t main_track)
{
    int64_t sum = 0;

    for (uint32_t t = 0; t < s->ask.n_tracks; t++)
        sum += t == main_track ? 0 : s->path.track_ns[t];
    return sum;
}

void hu_small_pool_add(hu_simulation *s, hu_findings *f)
{
    const uint32_t    track = hu_graph_main_track(&s->graph);
    const hu_interval window = track == HU_NONE ? (hu_interval){0, 0} : hu_thread_life(s->ask.trace, track);
    const double      whole = (double)(window.end_ns - window.start_ns);
    const uint8_t    *inner;
    hu_waiting_pool   p;
    hu_hint           h = {.rule = HU_RULE_SMALL_POOL};
    hu_finding       *x;
    double            share, left;
    char              threads[64];

    if (s->graph.n_ops || !s->graph.is_whole || whole <= 0 || !s->path.track_ns || f->n == HU_FINDINGS ||
        (double)path_elsewhere(s, track) < LEAST_SHARE * whole || !(inner = hu_host_calls_find_inner(&s->ask, s->scratch)) ||
        !hu_waiting_pool_find(&s->ask, track, window, s->path.track_ns, inner, &p) || p.at_once < FEWEST)
        return;
    share = fmin(1, (double)p.path_ns / whole);
    if (share < LEAST_SHARE)
        return;
    left = fmax(0.5, p.at_once / (double)p.waits);
    if (100 * share * (1 - left) < LEAST_GAIN)
        return;
    if ((double)p.threads > round(p.at_once))
        snprintf(threads, sizeof threads, "%lld threads, %lld at a time on average,", (long long)p.threads,
                 llround(p.at_once));
    else
        snprintf(threads, sizeof threads, "%lld threads", (long long)p.threads);
    hu_hint_say(&h,
                "%s wait for %s of their time %s%.*s%s%.*s, and the main thread waits for them for %s of the run (%s): "
                "more at a time would overlap these waits.",
                threads, hu_say_pct(100 * (double)p.waited_ns / (double)p.lived_ns).t,
                p.class == HU_HOST_NETWORK ? "for the network in " : "for events on file descriptors in ",
                HU_FMT(hu_str_cut(p.call, CALL)), p.peer.n ? " of " : "", HU_FMT(hu_str_cut(p.peer, PEER)),
                hu_say_pct(100 * share).t, hu_say_time((double)p.path_ns).t);
    hu_hint_show(&h, "%s waits in all, %s each; one of the threads is %s", hu_say_count(p.waits).t,
                 hu_say_time((double)p.waited_ns / (double)p.waits).t,
                 hu_say_thread(&s->ask.tracks[p.track], s->ask.trace).t);
    hu_hint_show(&h, "the price is that of twice as many at a time; the interval reaches from nothing, where the other end "
                     "serves no more at once, to all of them at once");
    drop_same(f, 100 * share);
    x = &f->at[f->n++];
    *x = (hu_finding){.rule = HU_RULE_SMALL_POOL,
                      .n_evidence = h.n_evidence,
                      .gain_pct = 100 * share * (1 - left),
                      .high_pct = 100 * share * (1 - p.at_once / (double)p.waits),
                      .free_pct = 100 * share * (1 - p.at_once / (double)p.waits),
                      .before_ns = f->replayed_ns,
                      .after_ns = f->replayed_ns * (1 - share * (1 - left)),
                      .edit = {.kind = HU_EDIT_KINDS},
                      .confidence = HU_CONFIDENCE_MEDIUM};
    memcpy(x->statement, h.statement, sizeof x->statement);
    memcpy(x->evidence, h.evidence, sizeof h.evidence);
}
