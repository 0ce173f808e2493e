/* SPDX-License-Identifier: Apache-2.0
 * chosen.c - who is late is among them, so that the last to come is mostly known; whoever is not is in the time that the
 * fastest of the chosen spends in a collective. */
#include "job/chosen.h"

#include "base/thread.h"
#include "graph/simulation.h"
#include "ingest/open.h"

typedef struct {
    const hu_chosen_options *options;
    const hu_graph         **graphs;
    hu_chosen               *out;
    size_t                   digest[HU_CHOSEN_RANKS];
    size_t                   n;
} work;

static void add(work *w, size_t digest)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->digest[i] == digest)
            return;
    if (w->n < HU_CHOSEN_RANKS)
        w->digest[w->n++] = digest;
}

static void choose(work *w)
{
    const hu_chosen_options *o = w->options;
    hu_stragglers            s;

    hu_stragglers_measure(o->rendezvous, o->digests, o->n, &s);
    for (size_t i = 0; i < s.n; i++)
        add(w, s.at[i].digest);
    add(w, o->slowest);
    for (size_t i = 0; i < HU_CHOSEN_RANKS; i++)
        add(w, i * o->n / HU_CHOSEN_RANKS);
}

static void read_one(void *context, size_t i)
{
    const work              *w = context;
    const hu_chosen_options *o = w->options;
    const hu_input_options   input = {o->limits, false, NULL};
    hu_error                 unused = {0};
    hu_trace                *t = hu_open_trace(o->inputs->at[o->files[w->digest[i]]], &input, &unused);
    hu_simulation           *s = t ? hu_simulation_new(t, &o->steps, NULL, &unused) : NULL;

    w->out->arenas[i] = s ? hu_arena_new() : NULL;
    if (w->out->arenas[i])
        w->graphs[w->digest[i]] = hu_graph_copy(&s->graph, w->out->arenas[i]);
    hu_simulation_free(s);
    hu_trace_free(t);
}

void hu_chosen_read(const hu_chosen_options *options, const hu_graph **graphs, hu_chosen *out)
{
    work w = {.options = options, .graphs = graphs, .out = out};

    *out = (hu_chosen){0};
    choose(&w);
    hu_thread_each(w.n, options->threads, read_one, &w);
}

void hu_chosen_free(hu_chosen *chosen)
{
    for (size_t i = 0; i < HU_CHOSEN_RANKS; i++)
        hu_arena_free(chosen->arenas[i]);
}
