/* SPDX-License-Identifier: Apache-2.0
 * exchange.c - a crew reads a run together.
 *
 * All but process 0 pack what they find and send it, so that process 0 has what it would have found itself; what is left
 * for the others is to draw those of their ranks that it then chooses.
 */
#include "job/filling.h"
#include "job/relay.h"

_Noreturn void hu_exchange_give_up(const hu_filling *w, hu_error *err)
{
    const hu_crew *crew = w->options->crew;

    if (err->code == 0)
        hu_fail_memory(err);
    crew->give_up(crew, err);
}

void hu_exchange_pack(const hu_filling *w, size_t i)
{
    hu_rank       *r = &w->ranks[i];
    const hu_relay what = {r->digest, r->findings, r->graph, r->timeline, r->error};
    hu_arena      *arena = hu_arena_new();
    hu_error       unused;

    if (!arena || hu_relay_pack(&what, arena, &w->packed[i], &unused) < 0)
        w->packed[i] = (hu_str){0};
    hu_rank_free(r);
    r->timeline_arena = arena;
}

void hu_exchange_send(const hu_filling *w)
{
    for (size_t k = 0; k < w->n_mine; k++) {
        hu_error err = {0};

        if (!w->packed[w->mine[k]].p)
            hu_exchange_give_up(w, &err);
        hu_crew_send(w->options->crew, 0, w->packed[w->mine[k]]);
    }
}

/* Into `arena` comes the timeline, where there is one. */
static void receive(const hu_filling *w, int from, hu_arena *arena, hu_relay *out)
{
    hu_arena *scratch = hu_arena_new();
    hu_error  err = {0};
    hu_str    bytes;

    if (!scratch || !arena || hu_crew_receive(w->options->crew, from, scratch, &bytes, &err) < 0 ||
        hu_relay_unpack(bytes, arena, out, &err) < 0)
        hu_exchange_give_up(w, &err);
    hu_arena_free(scratch);
}

/* The graph and the timeline of a rank came in one arena, which belongs to whichever there is. */
static void take(hu_rank *r, const hu_relay *found, hu_arena *arena)
{
    r->digest = found->digest;
    r->findings = found->findings;
    r->graph = found->graph;
    r->timeline = found->timeline;
    r->error = found->error;
    if (r->graph)
        r->graph_arena = arena;
    else if (r->timeline.bytes.n)
        r->timeline_arena = arena;
    else
        hu_arena_free(arena);
}

void hu_exchange_receive(const hu_filling *w)
{
    for (int p = 1; p < hu_crew_size(w->options->crew); p++) {
        for (size_t i = 0; i < w->inputs->n; i++) {
            hu_relay  found;
            hu_arena *arena;

            if (w->inputs->reader[i] != p)
                continue;
            arena = hu_arena_new();
            receive(w, p, arena, &found);
            take(&w->ranks[i], &found, arena);
        }
    }
}

/* Of the first `n` ranks those that process p reads and the page shows. */
static void ask_to_draw(const hu_filling *w, size_t n, int p)
{
    hu_arena     *arena = hu_arena_new();
    hu_relay_wish wish = {.shown = SIZE_MAX, .pictures = w->pictures};
    hu_error      err = {0};
    hu_str        bytes;

    if (arena)
        wish.files = hu_arena_alloc(arena, (n + 1) * sizeof *wish.files);
    for (size_t i = 0; i < n && wish.files; i++) {
        if (!w->ranks[i].is_drawn || w->inputs->reader[w->ranks[i].file] != p)
            continue;
        if (i == w->shown)
            wish.shown = w->ranks[i].file;
        wish.files[wish.n++] = w->ranks[i].file;
    }
    if (!wish.files || hu_relay_pack_wish(&wish, arena, &bytes, &err) < 0)
        hu_exchange_give_up(w, &err);
    hu_crew_send(w->options->crew, p, bytes);
    hu_arena_free(arena);
}

static void receive_drawn(const hu_filling *w, size_t n, int p)
{
    for (size_t i = 0; i < n; i++) {
        hu_rank *r = &w->ranks[i];
        hu_relay found;

        if (!r->is_drawn || w->inputs->reader[r->file] != p)
            continue;
        r->timeline_arena = hu_arena_new();
        receive(w, p, r->timeline_arena, &found);
        r->timeline = found.timeline;
    }
}

void hu_exchange_draw(hu_filling *w, size_t n)
{
    const int size = hu_crew_size(w->options->crew);

    for (int p = 1; p < size; p++)
        ask_to_draw(w, n, p);
    hu_ranks_draw(w, n);
    for (int p = 1; p < size; p++)
        receive_drawn(w, n, p);
}

/* What was packed is unpacked again: it may have to be drawn. */
static void unpack(const hu_filling *w, size_t i, hu_arena *arena)
{
    hu_rank *r = &w->ranks[i];
    hu_relay known;
    hu_error err = {0};

    if (!w->packed[i].p || hu_relay_unpack(w->packed[i], arena, &known, &err) < 0)
        hu_exchange_give_up(w, &err);
    hu_arena_free(r->timeline_arena);
    r->timeline_arena = NULL;
    r->is_drawn = true;
    r->digest = known.digest;
    r->findings = known.findings;
}

void hu_exchange_draw_wished(hu_filling *w)
{
    const size_t  n = w->inputs->n;
    hu_arena     *arena = hu_arena_new();
    hu_relay_wish wish;
    hu_error      err = {0};
    hu_str        bytes;

    if (!arena || hu_crew_receive(w->options->crew, 0, arena, &bytes, &err) < 0 ||
        hu_relay_unpack_wish(bytes, arena, &wish, &err) < 0)
        hu_exchange_give_up(w, &err);
    w->shown = wish.shown;
    w->pictures = wish.pictures;
    for (size_t k = 0; k < wish.n; k++)
        unpack(w, wish.files[k] < n ? wish.files[k] : n, arena); /* of the empty one nothing was packed */
    hu_ranks_draw(w, n);
    for (size_t k = 0; k < wish.n; k++) { /* in the order in which they were wished */
        hu_rank *r = &w->ranks[wish.files[k]];

        hu_digest_free(r->digest); /* process 0 has it */
        hu_findings_free(r->findings);
        r->digest = NULL;
        r->findings = NULL;
        hu_exchange_pack(w, wish.files[k]);
        if (!w->packed[wish.files[k]].p)
            hu_exchange_give_up(w, &err);
        hu_crew_send(w->options->crew, 0, w->packed[wish.files[k]]);
    }
    hu_arena_free(arena);
}
