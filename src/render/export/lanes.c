/* SPDX-License-Identifier: Apache-2.0
 * lanes.c - which slices of a track can share a row.
 *
 * A viewer closes what was opened last, so a slice that crosses another would close the wrong one.  The rules:
 *  - on a thread a slice may lie in its parent, the one that trace/nest.h names; on a stream it may not, because GPU work
 *    holds no other: what overlaps there runs at the same time;
 *  - what crosses goes to the next lane of its track, the lowest that has room, and takes its children with it;
 *  - a child that ends a little after its parent, by rounding, is cut there;
 *  - there are at most MOST_LANES, in the last of which a slice is cut where the one around it ends.
 * A slice is also cut at the window.  Nothing else changes; whoever draws a cut slice can tell its whole length too.
 */
#include "render/export/lanes.h"

#include "trace/nest.h"

enum { MOST_LANES = 64 };

typedef struct {
    const hu_export_part *part;
    hu_slices             s;
    hu_arena             *scratch;
    uint32_t             *order;  /* slices of the track at hand */
    uint32_t             *places; /* into it: the order of drawing */
    uint32_t             *parent; /* by slice */
    uint32_t             *at;     /* by slice: place in `order` */
    hu_drawn             *drawn;  /* in that order; below: position in it */
    uint8_t              *lane;
    uint32_t              n;
    uint32_t              top[MOST_LANES], count[MOST_LANES];
    uint32_t              n_lanes;
    bool                  is_flat;
} work;

/* Those of a stream that take no time come before the one that starts where they are, so that nothing lies in it. */
static void put_points_first(const hu_slices *s, uint32_t *order, uint32_t n)
{
    for (uint32_t from = 0, end; from < n; from = end) {
        uint32_t points = 0;

        for (end = from + 1; end < n && s->start_ns[order[end]] == s->start_ns[order[from]]; end++)
            ;
        while (points < end - from && s->dur_ns[order[end - 1 - points]] == 0)
            points++;
        if (points == 0 || points == end - from)
            continue;
        for (uint32_t low = from, high = end - 1; low < high; low++, high--) {
            const uint32_t swap = order[low];

            if (s->dur_ns[order[high]])
                break;
            order[low] = order[high];
            order[high] = swap;
        }
    }
}

static void take_track(work *w, const hu_trace *trace, const hu_track *track)
{
    const uint32_t *order = hu_trace_order(trace) + track->first;

    w->n = w->n_lanes = 0;
    w->is_flat = track->type == HU_TRACK_STREAM;
    for (uint32_t i = 0; i < track->count; i++)
        if (hu_export_keeps(w->part, &w->s, order[i]))
            w->order[w->n++] = order[i];
    if (w->is_flat)
        put_points_first(&w->s, w->order, w->n);
    for (uint32_t i = 0; i < w->n; i++)
        w->at[w->order[i]] = i;
}

/* Which of them lies in which, and in which order they are drawn. */
static bool nest_track(work *w)
{
    hu_nest_pairs early = {0};
    hu_nest       nest = {.kinds = w->is_flat ? 0 : ~0u, .parent = w->parent, .early = &early, .arena = w->scratch};
    bool          ok = hu_nest_thread(&nest, &w->s, w->order, w->n) && hu_nest_drawing(&early, w->n, w->places, w->scratch);

    for (uint32_t i = 0; i < w->n && w->is_flat; i++)
        w->parent[w->order[i]] = HU_NONE;
    hu_arena_drop(w->scratch, early.at);
    return ok;
}

/* Closes what has ended on the lane; can this one be drawn there? */
static bool fits(work *w, uint32_t lane, hu_drawn *d)
{
    uint32_t       *top = &w->top[lane];
    const hu_drawn *around;

    while (*top != HU_NONE && w->drawn[*top].end_ns <= d->start_ns)
        *top = w->drawn[*top].below;
    d->below = *top;
    if (*top == HU_NONE)
        return true;
    around = &w->drawn[*top];
    if (lane < MOST_LANES - 1 && around->slice != w->parent[d->slice])
        return false;
    d->start_ns = d->start_ns > around->start_ns ? d->start_ns : around->start_ns;
    d->end_ns = d->end_ns < around->end_ns ? d->end_ns : around->end_ns;
    d->end_ns = d->end_ns > d->start_ns ? d->end_ns : d->start_ns;
    return true;
}

static void place(work *w, uint32_t at)
{
    const uint32_t slice = w->order[at];
    const int64_t  start = w->s.start_ns[slice], end = start + w->s.dur_ns[slice];
    hu_drawn      *d = &w->drawn[at];
    uint32_t       lane = w->parent[slice] == HU_NONE ? 0 : w->lane[w->at[w->parent[slice]]];

    *d = (hu_drawn){.slice = slice,
                    .start_ns = start > w->part->window.start_ns ? start : w->part->window.start_ns,
                    .end_ns = end < w->part->window.end_ns ? end : w->part->window.end_ns};
    while (lane < w->n_lanes && !fits(w, lane, d))
        lane++;
    if (lane == w->n_lanes) {
        w->count[w->n_lanes++] = 0;
        d->below = HU_NONE;
    }
    w->top[lane] = at;
    w->count[lane]++;
    w->lane[at] = (uint8_t)lane;
}

/* From positions on the track to positions on each lane. */
static bool split(work *w, uint32_t track, hu_arena *arena, hu_lanes *out)
{
    hu_drawn *room = hu_arena_alloc(arena, w->n * sizeof *room);
    hu_lane  *lanes = out->at + out->n;

    if (!room)
        return false;
    for (uint32_t lane = 0; lane < w->n_lanes; lane++) {
        lanes[lane] = (hu_lane){.track = track, .number = lane, .at = room};
        room += w->count[lane];
    }
    for (uint32_t k = 0; k < w->n; k++) {
        const uint32_t i = w->places[k];
        hu_lane       *lane = &lanes[w->lane[i]];
        hu_drawn       d = w->drawn[i];

        if (d.below != HU_NONE)
            d.below = w->order[d.below]; /* was drawn before: its place on this lane is known */
        w->order[i] = (uint32_t)lane->n;
        lane->at[lane->n++] = d;
    }
    out->n += w->n_lanes;
    return true;
}

int hu_lanes_build(const hu_export_part *part, hu_arena *arena, hu_lanes *out, hu_error *err)
{
    size_t          n_tracks, cap = 0;
    const hu_track *tracks = hu_trace_tracks(part->trace, &n_tracks);
    uint32_t        most = 0;
    hu_arena       *scratch = hu_arena_new();
    work            w = {.part = part, .s = hu_trace_slices(part->trace)};
    bool            ok = scratch != NULL;

    w.scratch = scratch;

    for (size_t t = 0; t < n_tracks; t++)
        most = tracks[t].count > most ? tracks[t].count : most;
    *out = (hu_lanes){0};
    ok = ok && (w.order = hu_arena_alloc(scratch, (most + 1) * sizeof *w.order)) != NULL &&
         (w.drawn = hu_arena_alloc(scratch, (most + 1) * sizeof *w.drawn)) != NULL &&
         (w.lane = hu_arena_alloc(scratch, most + 1)) != NULL &&
         (w.places = hu_arena_alloc(scratch, (most + 1) * sizeof *w.places)) != NULL &&
         (w.parent = hu_arena_alloc(scratch, (w.s.n + 1) * sizeof *w.parent)) != NULL &&
         (w.at = hu_arena_alloc(scratch, (w.s.n + 1) * sizeof *w.at)) != NULL;
    for (size_t t = 0; ok && t < n_tracks; t++) {
        take_track(&w, part->trace, &tracks[t]);
        ok = nest_track(&w);
        for (uint32_t i = 0; i < w.n && ok; i++)
            place(&w, w.places[i]);
        ok = ok && (cap >= out->n + w.n_lanes ||
                    hu_vec_make_room(arena, (void **)&out->at, &cap, out->n + w.n_lanes, sizeof *out->at));
        ok = ok && (w.n == 0 || split(&w, (uint32_t)t, arena, out));
    }
    hu_arena_free(scratch);
    return ok ? 0 : hu_fail_memory(err);
}

bool hu_lane_next(hu_lane_walk *w, hu_bracket *out)
{
    const hu_lane *lane = w->lane;

    if (w->top != HU_NONE && (w->next == lane->n || lane->at[w->top].end_ns <= lane->at[w->next].start_ns)) {
        out->drawn = &lane->at[w->top];
        out->time_ns = out->drawn->end_ns;
        out->is_end = true;
        w->top = out->drawn->below;
        return true;
    }
    if (w->next == lane->n)
        return false;
    out->drawn = &lane->at[w->next];
    out->time_ns = out->drawn->start_ns;
    out->is_end = false;
    w->top = (uint32_t)w->next++;
    return true;
}
