/* SPDX-License-Identifier: Apache-2.0
 * sight.c - one slice for each pixel of each depth, and all that is wider; and what those lie in, so that the depth of a
 * slice is the same in every piece of time.
 */
#include "timeline/sight.h"

#include "trace/nest.h"

enum { MAX_DEPTH = 512, BLOCK = 1024 };

struct hu_sight_index {
    uint8_t *rows;
    int64_t *last_end_ns; /* of BLOCK slices, in the order of tracks */
};

/* The slices of a track that still run, and where small ones of one depth stand for each other. */
typedef struct {
    int64_t  end_ns[MAX_DEPTH];
    int64_t  bucket[MAX_DEPTH]; /* of the last one that was kept */
    uint32_t slice[MAX_DEPTH];
    uint32_t depth;
} level;

static bool is_drawn(const hu_track *t)
{
    return t->type != HU_TRACK_COUNTER && t->count > 0;
}

/* Is the slice too small to see beside one that was kept?  Slices come in the order of their track. */
static bool is_hidden(level *l, uint32_t slice, int64_t start_ns, int64_t dur_ns, int64_t least_ns)
{
    while (l->depth && l->end_ns[l->depth - 1] <= start_ns)
        l->depth--;
    if (l->depth == MAX_DEPTH)
        return dur_ns < least_ns;
    l->slice[l->depth] = slice;
    l->end_ns[l->depth++] = start_ns + dur_ns;
    if (dur_ns >= least_ns)
        return false;
    if (l->bucket[l->depth - 1] == start_ns / least_ns)
        return true;
    l->bucket[l->depth - 1] = start_ns / least_ns;
    return false;
}

/* The same on a thread on which slices cross, by rows. */
static bool is_hidden_in_row(level *l, unsigned row, int64_t start_ns, int64_t dur_ns, int64_t least_ns)
{
    const bool is_hidden = dur_ns < least_ns && l->bucket[row] == start_ns / least_ns;

    if (dur_ns < least_ns)
        l->bucket[row] = start_ns / least_ns;
    return is_hidden;
}

static void keep_with_parents(hu_seen *seen, const hu_slices *s, uint32_t slice)
{
    const uint32_t track = s->track[slice];

    for (uint32_t i = slice; i != HU_NONE && s->track[i] == track && (i == slice || !seen->number[i]); i = s->parent[i])
        seen->number[i] = 1;
}

/* With all that it lies in. */
static void keep(hu_seen *seen, const level *l, uint32_t slice)
{
    seen->number[slice] = 1;
    for (uint32_t d = l->depth; d-- > 0 && (l->slice[d] == slice || !seen->number[l->slice[d]]);)
        seen->number[l->slice[d]] = 1;
}

uint32_t hu_sight_from(const hu_sight *sight, uint32_t place)
{
    const size_t n = hu_trace_slices(sight->trace).n;

    if (!sight->index || !sight->windows->is_asked)
        return place;
    while (place % BLOCK == 0 && place < n &&
           sight->index->last_end_ns[place / BLOCK] - sight->origin_ns < sight->windows->at[0].start_ns)
        place += BLOCK;
    return place;
}

uint32_t hu_sight_end(const hu_sight *sight, const hu_track *t)
{
    const hu_slices s = hu_trace_slices(sight->trace);
    const uint32_t *order = hu_trace_order(sight->trace);
    uint32_t        low = t->first, high = t->first + t->count;

    while (sight->windows->is_asked && low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (s.start_ns[order[middle]] - sight->origin_ns < sight->windows->at[0].end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

/* Marks what is kept of a track. */
static void choose_of_track(const hu_sight *v, const hu_slices *s, const hu_track *t, level *l, hu_seen *seen)
{
    const uint32_t *order = hu_trace_order(v->trace), end = hu_sight_end(v, t);

    l->depth = 0;
    memset(l->bucket, 0xff, sizeof l->bucket);
    for (uint32_t k = hu_sight_from(v, t->first); k < end; k = hu_sight_from(v, k + 1)) {
        const uint32_t i = order[k];
        const int64_t  start = s->start_ns[i] - v->origin_ns;
        const bool     crosses = v->rows && v->rows[i] != HU_NEST_NO_ROW;

        if (s->kind[i] == HU_KIND_SPAN || !hu_windows_hold(v->windows, start, start + s->dur_ns[i]))
            continue;
        if (crosses && (v->least_ns == 0 || !is_hidden_in_row(l, v->rows[i], start, s->dur_ns[i], v->least_ns)))
            keep_with_parents(seen, s, i);
        else if (!crosses && (v->least_ns == 0 || !is_hidden(l, i, start, s->dur_ns[i], v->least_ns)))
            keep(seen, l, i);
    }
}

int hu_sight_choose(const hu_sight *sight, hu_arena *arena, hu_seen *out, hu_error *err)
{
    const hu_slices s = hu_trace_slices(sight->trace);
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(sight->trace, &n_tracks);
    const uint32_t *order = hu_trace_order(sight->trace);
    level          *l = hu_arena_alloc(arena, sizeof *l);

    *out = (hu_seen){.number = hu_arena_calloc(arena, s.n + 1, sizeof *out->number),
                     .per_track = hu_arena_calloc(arena, n_tracks + 1, sizeof *out->per_track)};
    if (!out->number || !out->per_track || !l)
        return hu_fail_memory(err);
    for (size_t t = 0; t < n_tracks; t++) {
        const uint32_t end = hu_sight_end(sight, &tracks[t]);

        if (!is_drawn(&tracks[t]))
            continue;
        choose_of_track(sight, &s, &tracks[t], l, out);
        for (uint32_t k = hu_sight_from(sight, tracks[t].first); k < end; k = hu_sight_from(sight, k + 1)) {
            if (!out->number[order[k]])
                continue;
            out->number[order[k]] = ++out->n;
            out->per_track[t]++;
        }
    }
    return 0;
}

const uint8_t *hu_sight_rows(const hu_sight_index *index)
{
    return index->rows;
}

hu_sight_index *hu_sight_index_new(const hu_trace *trace, hu_arena *arena)
{
    const hu_slices s = hu_trace_slices(trace);
    const uint32_t *order = hu_trace_order(trace);
    hu_sight_index *index = hu_arena_alloc(arena, sizeof *index);

    if (!index || !(index->last_end_ns = hu_arena_calloc(arena, s.n / BLOCK + 1, sizeof *index->last_end_ns)) ||
        !hu_nest_rows(trace, &index->rows, arena))
        return NULL;
    for (size_t k = 0; k < s.n; k++) {
        const int64_t end = s.start_ns[order[k]] + s.dur_ns[order[k]];

        if (k % BLOCK == 0 || end > index->last_end_ns[k / BLOCK])
            index->last_end_ns[k / BLOCK] = end;
    }
    return index;
}
