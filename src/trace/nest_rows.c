/* SPDX-License-Identifier: Apache-2.0
 * nest_rows.c - rows of a thread on which slices cross.
 *
 * Each slice takes the lowest row below its parent that is free when it begins.  So that a step does not end up below the
 * frames that it begins in and outlasts, it takes its row where the first of them begins; the frames go below it.
 */
#include <stdlib.h>

#include "trace/nest.h"

static int by_aim(const void *left, const void *right)
{
    const hu_nest_pair *a = left, *b = right;

    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

bool hu_nest_drawing(const hu_nest_pairs *early, uint32_t n, uint32_t *places, hu_arena *scratch)
{
    hu_nest_pair *moves = hu_arena_grow(scratch, NULL, (early->n + 1) * sizeof *moves);
    size_t        put = 0, taken = 0, moved = 0;

    if (!moves)
        return false;
    if (early->n) {
        memcpy(moves, early->at, early->n * sizeof *moves);
        qsort(moves, early->n, sizeof *moves, by_aim);
    }
    for (uint32_t i = 0; i < n; i++) {
        for (; moved < early->n && moves[moved].to == i; moved++)
            places[put++] = moves[moved].from;
        if (taken < early->n && early->at[taken].from == i)
            taken++;
        else
            places[put++] = i;
    }
    hu_arena_drop(scratch, moves);
    return true;
}

/* `rows` of slices that came before are known. */
static void place(const hu_slices *s, const uint32_t *parent, int64_t *busy_until_ns, uint8_t *rows, uint32_t slice)
{
    const int64_t end = s->start_ns[slice] + s->dur_ns[slice];
    unsigned      row = parent[slice] == HU_NONE ? 0 : rows[parent[slice]] + 1u;

    while (row < HU_NEST_ROWS - 1 && busy_until_ns[row] > s->start_ns[slice])
        row++;
    row = row < HU_NEST_ROWS ? row : HU_NEST_ROWS - 1;
    busy_until_ns[row] = end > busy_until_ns[row] ? end : busy_until_ns[row];
    rows[slice] = (uint8_t)row;
}

static bool make_rows(const hu_slices *s, const uint32_t *order, uint32_t n, const hu_nest *nest, uint8_t *rows)
{
    uint32_t *places = hu_arena_grow(nest->arena, NULL, ((size_t)n + 1) * sizeof *places);
    int64_t   busy_until_ns[HU_NEST_ROWS];

    if (!places || !hu_nest_drawing(nest->early, n, places, nest->arena))
        return false;
    for (size_t r = 0; r < HU_NEST_ROWS; r++)
        busy_until_ns[r] = INT64_MIN;
    for (uint32_t i = 0; i < n; i++)
        if (hu_kind_in(s->kind[order[places[i]]], nest->kinds))
            place(s, nest->parent, busy_until_ns, rows, order[places[i]]);
    hu_arena_drop(nest->arena, places);
    return true;
}

static bool add_thread(const hu_slices *s, const uint32_t *order, uint32_t n, uint32_t *parent, uint8_t **rows,
                       hu_arena *arena)
{
    hu_nest_pairs early = {0};
    hu_nest       nest = {.kinds = ~HU_BIT(SPAN), .parent = parent, .early = &early, .arena = arena};
    bool          ok = hu_nest_thread(&nest, s, order, n);

    if (ok && nest.crossed && !*rows) {
        *rows = hu_arena_grow(arena, NULL, s->n + 1);
        if (*rows)
            memset(*rows, HU_NEST_NO_ROW, s->n + 1);
        ok = *rows != NULL;
    }
    ok = ok && (!nest.crossed || make_rows(s, order, n, &nest, *rows));
    hu_arena_drop(arena, early.at);
    return ok;
}

bool hu_nest_rows(const hu_trace *trace, uint8_t **rows, hu_arena *arena)
{
    const hu_slices s = hu_trace_slices(trace);
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(trace, &n);
    uint32_t       *parent = hu_arena_grow(arena, NULL, (s.n + 1) * sizeof *parent);
    bool            ok = parent != NULL;

    *rows = NULL;
    for (size_t k = 0; k < n && ok; k++)
        if (tracks[k].type == HU_TRACK_HOST)
            ok = add_thread(&s, hu_trace_order(trace) + tracks[k].first, tracks[k].count, parent, rows, arena);
    hu_arena_drop(arena, parent);
    return ok;
}
