/* SPDX-License-Identifier: Apache-2.0
 * gates_calls.c - what nominates the diagnoses of calls whose number costs, not what each of them waits for.
 */
#include "advise/callers.h"
#include "advise/gates.h"

enum {
    FEWEST_CALLS = 1000,      /* of one kind on one file: fewer are no habit of a loop */
    FEWEST_CHILDREN = 20,     /* in a row: fewer are no habit of a loop */
    SHORT_LIFE_NS = 10000000, /* on average: starting them is a large part of it */
    FEWEST_SAMPLES = 10,      /* of the CPU in page faults: fewer say little about how long these take */
    FEWEST_FAULTS = 10000,    /* of a process */
    TIMES_TOUCHED = 2,        /* as many faults as pages are held: each page is touched once, which no reuse saves */
};

typedef struct {
    int64_t ns, calls, bytes;
} sums;

/* All such calls of the window. */
static sums small_calls(const hu_scene *c)
{
    const hu_graph *g = &c->s->graph;
    const hu_ask   *ask = &c->s->ask;
    const int64_t   from = g->mark[0].host_end_ns, to = g->mark[g->n_marks - 1].host_end_ns;
    sums            all = {0};

    if (!hu_edit_has_nodes(hu_pricer_facts(c->s->pricer), 0, HU_CLASS_BIT(IO)))
        return all;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];

        if (n->lane != g->main_lane || n->start_ns < from || n->start_ns >= to ||
            hu_edit_small_call_ns(hu_pricer_facts(c->s->pricer), i) < 0)
            continue;
        const hu_os_detail *d = hu_trace_os_detail(ask->trace, ask->s.detail[n->slice]);

        all.ns += n->seen_ns;
        if (n->merged != HU_NONE) {
            all.calls += g->merged[n->merged].calls;
            all.bytes += g->merged[n->merged].bytes;
            continue;
        }
        all.calls += d->calls ? d->calls : 1;
        all.bytes += d->bytes;
    }
    return all;
}

hu_ns_per_step hu_scene_small_calls(const hu_scene *c)
{
    return hu_as_mean((double)small_calls(c).ns / (double)c->n_steps);
}

/* A short call in which the thread loses its CPU takes milliseconds: of a crowded machine that says nothing of the I/O. */
bool hu_scene_is_small_calls(const hu_scene *c, hu_ns_per_step io)
{
    const hu_graph      *g = &c->s->graph;
    const hu_edit_facts *facts = hu_pricer_facts(c->s->pricer);
    const int64_t        from = g->mark[0].host_end_ns, to = g->mark[g->n_marks - 1].host_end_ns;
    int64_t              small_ns = 0, lost_ns = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];
        const int64_t  lost = hu_edit_lost_cpu_ns(facts, i);

        if (n->lane != g->main_lane || n->class != HU_CLASS_IO || n->start_ns < from || n->start_ns >= to)
            continue;
        lost_ns += lost;
        small_ns += hu_edit_small_call_ns(facts, i) < 0 || n->seen_ns < lost ? 0 : n->seen_ns - lost;
    }
    return 2 * (double)small_ns >= io.ns * (double)c->n_steps - (double)lost_ns;
}

/* The file that most of such calls are made on; NULL: none of many. */
static const hu_host_place *place_of_many(const hu_scene *c)
{
    const unsigned       files = 1u << HU_HOST_FILE_READ | 1u << HU_HOST_FILE_WRITE;
    const hu_host_place *most = NULL;

    for (size_t i = 0;; i++) {
        const hu_host_place *p = hu_host_calls_place(&c->d->host_calls, files, i);

        if (!p)
            return most && most->sum.calls >= FEWEST_CALLS ? most : NULL;
        if (!most || p->sum.calls > most->sum.calls)
            most = p;
    }
}

/* ", called from f," in the middle of a sentence. */
static hu_said_caller closed(hu_said_caller said)
{
    const size_t n = strlen(said.t);

    if (n && n + 1 < sizeof said.t)
        memcpy(said.t + n, ",", 2);
    return said;
}

bool hu_gate_small_calls(const hu_scene *c, hu_hint *h)
{
    const sums           all = small_calls(c);
    const hu_ns_per_step time = hu_as_mean((double)all.ns / (double)c->n_steps);
    const hu_host_place *p = place_of_many(c);

    if (!p || all.calls < FEWEST_CALLS || !hu_scene_is_much(c, time))
        return false;
    hu_hint_say(
        h,
        "%s %.*s calls%s%.*s%s move %.0f byte%s each on average: such calls take %s. Calling costs more than what is moved.",
        hu_say_count(p->sum.calls).t, HU_FMT(p->call),
        !p->path.n                      ? ""
        : p->class == HU_HOST_FILE_READ ? " from "
                                        : " to ",
        HU_FMT(p->path), closed(hu_scene_say_caller(c, p->call)).t, (double)p->sum.bytes / (double)p->sum.calls,
        2 * p->sum.bytes < 3 * p->sum.calls ? "" : "s", hu_scene_share(c, time).t);
    hu_hint_show(h, "a call takes %s, counted where many follow each other closely",
                 hu_say_time((double)all.ns / (double)all.calls).t);
    hu_hint_show(h, "with a buffer of 64 KiB: %s calls instead of %s", hu_say_count(all.bytes / 65536 + 1).t,
                 hu_say_count(all.calls).t);
    return true;
}

bool hu_gate_page_faults(const hu_scene *c, hu_hint *h)
{
    const hu_page_faults *f = hu_edit_page_faults(hu_pricer_facts(c->s->pricer));
    const hu_graph       *g = &c->s->graph;
    const hu_ns_per_step  time = hu_as_mean((double)f->ns / (double)c->n_steps);
    int64_t               calls = 0, calls_ns = 0;

    if (f->samples < FEWEST_SAMPLES || f->faults < FEWEST_FAULTS || f->faults < TIMES_TOUCHED * f->pages ||
        !hu_scene_is_much(c, time))
        return false;
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->node[i].lane == g->main_lane && hu_page_faults_is_call(g, i)) {
            calls += hu_graph_pieces(g, &g->node[i]);
            calls_ns += g->node[i].seen_ns;
        }
    hu_hint_say(h, "Page faults of fresh memory take %s%s%.*s: %s faults for at most %s pages held at once.",
                hu_scene_share(c, time).t, f->function ? ", most of them in " : "",
                HU_FMT(hu_trace_text(c->s->ask.trace, f->function)), hu_say_count(f->faults).t, hu_say_count(f->pages).t);
    if (calls)
        hu_hint_show(h, "%s call%s of mmap, munmap and madvise on memory: %s", hu_say_count(calls).t, hu_plural(calls),
                     hu_say_in_all(hu_as_sum(calls_ns)).t);
    hu_hint_show(h, "their time from %s CPU samples inside the kernel, in no call of the system",
                 hu_say_count(f->samples).t);
    return true;
}

bool hu_gate_processes(const hu_scene *c, hu_hint *h)
{
    const hu_children   *k = hu_edit_children(hu_pricer_facts(c->s->pricer));
    const hu_ns_per_step time = hu_as_mean((double)k->ns / (double)c->n_steps);

    if (k->n < FEWEST_CHILDREN || k->life_ns > SHORT_LIFE_NS * k->n || !hu_scene_is_much(c, time))
        return false;
    hu_hint_say(
        h, "Starting %s child processes and waiting for them takes %s; %s times it is %.*s. They live for %s on average.",
        hu_say_count(k->n).t, hu_scene_share(c, time).t, hu_say_count(k->n_named).t,
        HU_FMT(hu_trace_text(c->s->ask.trace, k->name)), hu_say_time((double)k->life_ns / (double)k->n).t);
    hu_hint_show(h, "the price is that of none of them; what they do for the job remains to be done");
    h->may_gain_half = true;
    return true;
}
