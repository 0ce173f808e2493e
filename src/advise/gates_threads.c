/* SPDX-License-Identifier: Apache-2.0
 * gates_threads.c - what nominates the diagnoses of threads that wait for each other. */
#include "advise/gates.h"
#include "advise/lone_work.h"
#include "advise/say_thread.h"

#include "analyze/host_calls.h"
#include "analyze/lock_holders.h"

enum { NAME = 40, FUNCTION = 72 }; /* bytes of a name that are said */

static const double KNOWN = 0.5;    /* of the time in which threads wait for locks, that the holder must be known */
static const double MOSTLY = 0.5;   /* of that, what it does, to be told */
static const double CROWDED = 0.05; /* of the time that a thread wants to run: so long it waits, and has no CPU */
static const double NEARLY = 0.9;   /* the same, to be told of one thread */
static const double UNEVEN = 1.1;   /* times as long as its share that a thread of several must compute */

/* The group whose longest thread computes most beyond its share. */
static const hu_joined_group *find_group(const hu_joined *j)
{
    const hu_joined_group *best = NULL;

    for (size_t i = 0; i < j->n; i++) {
        const hu_joined_group *x = &j->at[i];

        if ((double)x->run_ns > UNEVEN * (double)x->share_ns &&
            (!best || x->run_ns - x->share_ns > best->run_ns - best->share_ns))
            best = x;
    }
    return best;
}

bool hu_gate_waited_thread(const hu_scene *c, hu_hint *h)
{
    const hu_trace        *trace = c->s->ask.trace;
    const hu_joined       *j = hu_edit_joined(hu_pricer_facts(c->s->pricer));
    const hu_joined_group *x = find_group(j);
    const int64_t          cpus = hu_trace_get_info(trace)->cpus;
    hu_str                 function;
    hu_said_thread         name;

    if (!x || !hu_scene_is_much(c, hu_as_mean((double)x->run_ns)))
        return false;
    function = hu_str_cut(hu_trace_text(trace, x->function), FUNCTION);
    name = hu_say_thread(&c->s->ask.tracks[x->track], trace);
    if (x->n == 1) {
        hu_hint_say(h, "The main thread waits for %sthe thread %s%s. That thread computes for %s%s%.*s.",
                    x->is_behind ? "threads that wait for " : "", name.t, x->is_behind ? "" : " in pthread_join",
                    hu_scene_share(c, hu_as_mean((double)x->run_ns)).t, x->function ? ", most of it in " : "",
                    HU_FMT(function));
        hu_lone_work_say(c, HU_EDIT_THREADS, h);
    } else {
        const double others = (double)(x->all_ns - x->run_ns) / (x->n - 1);

        hu_hint_say(h,
                    "The main thread waits in pthread_join for %lld threads with unequal work in %.*s: the thread %s "
                    "computes for %s, %s %s.",
                    (long long)x->n, HU_FMT(function), name.t, hu_scene_share(c, hu_as_mean((double)x->run_ns)).t,
                    x->n == 2 ? "the other for" : "the others on average for", hu_say_time(others).t);
        hu_hint_show(h, "the price is that of the same work in equal parts: %s each", hu_say_time((double)x->share_ns).t);
    }
    if (x->function)
        hu_hint_show(h, "%lld of its %lld CPU samples are in %.*s", (long long)x->in_function, (long long)x->samples,
                     HU_FMT(function));
    hu_hint_show(h, "the main thread waits %s for %s; the job may use %lld CPU%s", hu_say_in_all(hu_as_sum(x->wait_ns)).t,
                 x->n == 1 ? "it" : "them", (long long)cpus, hu_plural(cpus));
    if (x->n > 1 && (double)x->wants_ns > CROWDED * (double)(x->run_ns + x->wants_ns)) {
        hu_hint_show(h, "it waits for a CPU for %s: where other programs take the CPUs, sharing the work may gain nothing",
                     hu_say_in_all(hu_as_sum(x->wants_ns)).t);
        h->may_gain_nothing = true;
    }
    h->is_likely = true;
    return true;
}

uint32_t hu_scene_main_track(const hu_scene *c)
{
    const hu_graph *g = &c->s->graph;
    const hu_ask   *ask = &c->s->ask;
    uint32_t        lane = 0;

    for (uint32_t t = 0; t < ask->n_tracks; t++)
        if (ask->tracks[t].type == HU_TRACK_HOST && lane++ == g->main_lane)
            return t;
    return HU_NONE;
}

hu_said_holder hu_scene_lock_holder(const hu_scene *c, hu_hint *h)
{
    const hu_ask   *ask = &c->s->ask;
    const uint32_t  main = hu_scene_main_track(c);
    const uint8_t  *is_lock = hu_lock_holders_calls(ask, c->s->scratch);
    const uint8_t  *inner = hu_host_calls_find_inner(ask, c->s->scratch);
    hu_said_holder  said = {"Another thread holds them."};
    hu_lock_holders x;
    char            doing[160] = "", who[112];
    const char     *verb;
    hu_str          where;

    if (main == HU_NONE || !is_lock || !inner || !hu_lock_holders_find(ask, main, is_lock, inner, c->s->scratch, &x) ||
        (double)x.known_ns < KNOWN * (double)x.waited_ns || x.known_ns == 0)
        return said;
    verb = x.doing.n ? "is in " : x.function.n ? "computes in " : "computes";
    where = hu_str_cut(x.doing.n ? x.doing : x.function, FUNCTION);
    if ((double)x.doing_ns >= MOSTLY * (double)x.known_ns)
        snprintf(doing, sizeof doing, " and %s%.*s for %s of that time", verb, HU_FMT(where),
                 hu_say_pct(100 * (double)x.doing_ns / (double)x.known_ns).t);
    if ((double)x.holder_ns >= NEARLY * (double)x.known_ns)
        snprintf(who, sizeof who, "The thread %s", hu_say_thread(&ask->tracks[x.holder], ask->trace).t);
    else
        snprintf(who, sizeof who, "One thread");
    snprintf(said.t, sizeof said.t, "%s holds the lock that others wait for%s.", who, doing);
    hu_hint_show(
        h, "told by who does not wait, in %s of the time in which others wait for locks: %s thread%s, each a tenth of it",
        hu_say_pct(100 * (double)x.known_ns / (double)x.waited_ns).t, hu_say_count(x.n_holders).t, hu_plural(x.n_holders));
    return said;
}
