/* SPDX-License-Identifier: Apache-2.0
 * chosen.c - who is late is among them, so that the last to come is mostly known; whoever is not is in the time that the
 * fastest of the chosen spends in a collective. */
#include "job/chosen.h"

#include "base/thread.h"
#include "advise/findings.h"
#include "graph/simulation.h"
#include "ingest/open.h"

typedef struct {
    const hu_filling *filling;
    const hu_graph  **graphs;
    hu_chosen        *out;
    size_t            rank[HU_CHOSEN_RANKS];
    size_t            n;
} work;

static void add(work *w, size_t rank)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->rank[i] == rank)
            return;
    if (w->n < HU_CHOSEN_RANKS)
        w->rank[w->n++] = rank;
}

static void choose(work *w, const hu_late_ranks *late, size_t n)
{
    for (size_t i = 0; i < late->n; i++)
        add(w, late->at[i].digest);
    add(w, w->filling->shown);
    for (size_t i = 0; i < HU_CHOSEN_RANKS; i++)
        add(w, i * n / HU_CHOSEN_RANKS);
}

static void read_one(void *context, size_t i)
{
    const work            *w = context;
    const hu_input_options input = {.limits = w->filling->options->limits};
    hu_error               unused = {0};
    hu_findings           *f;
    hu_trace              *t = hu_open_trace(w->filling->ranks[w->rank[i]].input, &input, &unused);
    hu_simulation         *s = t ? hu_simulation_new(t, &w->filling->digest.steps, NULL, &unused) : NULL;

    w->out->arenas[i] = s ? hu_arena_new() : NULL;
    if (s) { /* once more, for the effects */
        s->keeps_effects = true;
        f = hu_findings_measure(s, NULL, w->filling->ranks[w->rank[i]].digest, &unused);
        hu_findings_free(f);
    }
    if (w->out->arenas[i])
        w->graphs[w->rank[i]] = hu_graph_copy(&s->graph, w->out->arenas[i]);
    hu_simulation_free(s);
    hu_trace_free(t);
}

void hu_chosen_read(const hu_filling *w, const hu_late_ranks *late, size_t n, const hu_graph **graphs, hu_chosen *out)
{
    work mine = {.filling = w, .graphs = graphs, .out = out};

    *out = (hu_chosen){0};
    choose(&mine, late, n);
    hu_thread_each(mine.n, w->threads, read_one, &mine);
}

void hu_chosen_free(hu_chosen *chosen)
{
    for (size_t i = 0; i < HU_CHOSEN_RANKS; i++)
        hu_arena_free(chosen->arenas[i]);
}
