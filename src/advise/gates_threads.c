/* SPDX-License-Identifier: Apache-2.0
 * gates_threads.c - what nominates the diagnoses of threads that wait for each other. */
#include "advise/gates.h"

static const double UNEVEN = 1.1; /* times as long as its share that a thread of several must compute */

typedef struct {
    char t[96];
} said_thread;

/* "renderer (4711)"; of one that has the name of its process, as most have, its number alone. */
static said_thread say_thread(const hu_track *t, const hu_trace *trace)
{
    const hu_str name = hu_trace_text(trace, t->name);
    said_thread  said;

    if (!name.n || hu_str_equal(name, hu_trace_text(trace, t->process)) || t->tid_is_text)
        snprintf(said.t, sizeof said.t, "%lld", (long long)t->tid);
    else
        snprintf(said.t, sizeof said.t, "%.*s (%lld)", (int)(name.n > 40 ? 40 : name.n), name.p, (long long)t->tid);
    return said;
}

/* The group whose longest thread computes most beyond its share. */
static const hu_joined_group *find_group(const hu_joined *j)
{
    const hu_joined_group *best = NULL;
    double                 most = 0;

    for (size_t i = 0; i < j->n; i++) {
        const hu_joined_group *x = &j->at[i];
        const double           share = x->ways >= 2 ? (double)x->all_ns / x->ways : (double)x->run_ns;

        if ((double)x->run_ns > UNEVEN * share && (double)x->run_ns - share > most) {
            best = x;
            most = (double)x->run_ns - share;
        }
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
    said_thread            name;

    if (!x || !hu_scene_is_much(c, hu_as_mean((double)x->run_ns)))
        return false;
    function = hu_trace_text(trace, x->function);
    function.n = function.n > 100 ? 100 : function.n;
    name = say_thread(&c->s->ask.tracks[x->track], trace);
    if (x->n == 1) {
        hu_hint_say(h, "The main thread waits for the thread %s in pthread_join. That thread computes for %s%s%.*s.", name.t,
                    hu_scene_share(c, hu_as_mean((double)x->run_ns)).t, x->function ? ", most of it in " : "",
                    HU_FMT(function));
        hu_hint_show(h, "the price is that of its work shared by %lld CPUs, as far as nothing else in the recording uses them: "
                     "whether it can be divided is not in the trace", (long long)x->ways);
        h->may_gain_nothing = true;
    } else {
        const double others = (double)(x->all_ns - x->run_ns) / (x->n - 1);

        hu_hint_say(h, "The main thread waits in pthread_join for %lld threads with unequal work in %.*s: the thread %s "
                    "computes for %s, %s %s.", (long long)x->n, HU_FMT(function), name.t,
                    hu_scene_share(c, hu_as_mean((double)x->run_ns)).t, x->n == 2 ? "the other for" : "the others on average for",
                    hu_say_time(others).t);
        hu_hint_show(h, "the price is that of the same work in equal parts, on %lld CPUs", (long long)x->ways);
    }
    if (x->function)
        hu_hint_show(h, "%lld of its %lld CPU samples are in %.*s", (long long)x->in_function, (long long)x->samples,
                     HU_FMT(function));
    hu_hint_show(h, "the main thread waits %s for %s; the job may use %lld CPU%s", hu_say_in_all(hu_as_sum(x->wait_ns)).t,
                 x->n == 1 ? "it" : "them", (long long)cpus, hu_plural(cpus));
    h->is_likely = true;
    return true;
}
