/* SPDX-License-Identifier: Apache-2.0
 * teams.c - spreads what equal work saves in a phase over the nodes of its threads that lie in it, by their length there. */
#include "graph/teams.h"

#include <stdlib.h>

#include "analyze/omp_regions.h"

/* A phase of one thread. */
typedef struct {
    uint32_t lane;
    int64_t  start_ns, end_ns, saved_ns;
} piece;

static int by_lane(const void *left, const void *right)
{
    const piece *a = left, *b = right;

    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Pieces by lane, first[lane] ... first[lane + 1]. */
static bool list_pieces(const hu_graph *g, const hu_omp_regions *r, hu_arena *scratch, piece **pieces, size_t **first)
{
    uint32_t *lane_of = hu_arena_alloc(scratch, (g->ask->n_tracks + 1) * sizeof *lane_of), lane = 0;
    size_t    n = 0, most = 0;

    for (size_t i = 0; i < r->n_phases; i++)
        most += r->phases[i].saved_ns ? r->phases[i].n : 0;
    *pieces = hu_arena_alloc(scratch, (most + 1) * sizeof **pieces);
    *first = hu_arena_calloc(scratch, g->n_lanes + 2, sizeof **first);
    if (!lane_of || !*pieces || !*first)
        return false;
    for (uint32_t t = 0; t < g->ask->n_tracks; t++) /* lanes are the host's tracks in their order (lanes.c) */
        lane_of[t] = g->ask->tracks[t].type == HU_TRACK_HOST ? lane++ : HU_NONE;
    for (size_t i = 0; i < r->n_phases; i++) {
        const hu_omp_phase *p = &r->phases[i];

        for (uint32_t k = 0; p->saved_ns && k < p->n; k++) {
            const uint32_t at = lane_of[r->members[p->first + k].track];

            if (at >= g->n_lanes)
                continue;
            (*pieces)[n++] = (piece){at, p->start_ns, p->end_ns, p->saved_ns};
            (*first)[at + 1]++;
        }
    }
    for (uint32_t i = 0; i < g->n_lanes; i++)
        (*first)[i + 1] += (*first)[i];
    if (n)
        qsort(*pieces, n, sizeof **pieces, by_lane);
    return true;
}

/* What a node loses; nodes of a lane come in the order of time. */
static int64_t less_of(const hu_node *n, const piece *pieces, size_t *at, size_t end)
{
    const int64_t from = n->start_ns, to = from + n->seen_ns;
    double        less = 0;

    while (*at < end && pieces[*at].end_ns <= from)
        ++*at;
    for (size_t i = *at; i < end && pieces[i].start_ns < to; i++) {
        const int64_t start = pieces[i].start_ns > from ? pieces[i].start_ns : from;
        const int64_t ns = (pieces[i].end_ns < to ? pieces[i].end_ns : to) - start;

        if (ns > 0)
            less += (double)pieces[i].saved_ns * ((double)ns / (double)(pieces[i].end_ns - pieces[i].start_ns));
    }
    return less < (double)n->cost_ns ? (int64_t)less : n->cost_ns;
}

bool hu_teams_find(const hu_graph *g, hu_arena *arena, hu_arena *scratch, int64_t **out)
{
    hu_omp_regions r;
    piece         *pieces;
    size_t        *first, *at;

    *out = NULL;
    if (!g->ask || !hu_omp_regions_measure(g->ask, hu_graph_main_track(g), scratch, &r))
        return g->ask == NULL;
    if (!r.n_phases)
        return true;
    if (!list_pieces(g, &r, scratch, &pieces, &first))
        return false;
    at = hu_arena_alloc(scratch, (g->n_lanes + 1) * sizeof *at);
    *out = hu_arena_calloc(arena, g->n_nodes + 1, sizeof **out);
    if (!at || !*out)
        return false;
    memcpy(at, first, (g->n_lanes + 1) * sizeof *at);
    for (size_t i = 0; i < g->n_nodes; i++)
        (*out)[i] = less_of(&g->node[i], pieces, &at[g->node[i].lane], first[g->node[i].lane + 1]);
    return true;
}
