/* SPDX-License-Identifier: Apache-2.0
 * lanes.c - which slices of a track can share a row.
 *
 * A viewer closes what was opened last, so a slice that crosses another would close the wrong one.  The rules:
 *  - on a thread a slice may lie in another one; on a stream it may not, because GPU work holds no other: what
 *    overlaps there runs at the same time;
 *  - what does not fit goes to the next lane of its track, the lowest that has room;
 *  - a child that ends up to a microsecond after its parent is cut there: profilers round start and length each on
 *    its own;
 *  - there are at most MOST_LANES, in the last of which a slice is cut where the one around it ends.
 * A slice is also cut at the window.  Nothing else changes; whoever draws a cut slice can tell its whole length too.
 */
#include "render/export/lanes.h"

enum { MOST_LANES = 64, ROUNDING_NS = 1000 };

typedef struct {
    const hu_export_part *part;
    hu_slices             s;
    uint32_t             *order; /* slices of the track at hand */
    hu_drawn             *drawn; /* in that order; below: position in it */
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
}

/* Closes what has ended on the lane; can this one be drawn there? */
static bool fits(work *w, uint32_t lane, hu_drawn *d)
{
    uint32_t *top = &w->top[lane];
    int64_t   over_ns;

    while (*top != HU_NONE && w->drawn[*top].end_ns <= d->start_ns)
        *top = w->drawn[*top].below;
    d->below = *top;
    if (*top == HU_NONE)
        return true;
    over_ns = d->end_ns - w->drawn[*top].end_ns;
    if (lane < MOST_LANES - 1 && (w->is_flat || over_ns > ROUNDING_NS))
        return false;
    if (over_ns > 0)
        d->end_ns = w->drawn[*top].end_ns;
    return true;
}

static void place(work *w, uint32_t at)
{
    const uint32_t slice = w->order[at];
    const int64_t  start = w->s.start_ns[slice], end = start + w->s.dur_ns[slice];
    hu_drawn      *d = &w->drawn[at];
    uint32_t       lane = 0;

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
    for (uint32_t i = 0; i < w->n; i++) {
        hu_lane *lane = &lanes[w->lane[i]];
        hu_drawn d = w->drawn[i];

        if (d.below != HU_NONE)
            d.below = w->order[d.below]; /* came earlier: its place on this lane is known */
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

    for (size_t t = 0; t < n_tracks; t++)
        most = tracks[t].count > most ? tracks[t].count : most;
    *out = (hu_lanes){0};
    ok = ok && (w.order = hu_arena_alloc(scratch, (most + 1) * sizeof *w.order)) != NULL &&
         (w.drawn = hu_arena_alloc(scratch, (most + 1) * sizeof *w.drawn)) != NULL &&
         (w.lane = hu_arena_alloc(scratch, most + 1)) != NULL;
    for (size_t t = 0; ok && t < n_tracks; t++) {
        take_track(&w, part->trace, &tracks[t]);
        for (uint32_t i = 0; i < w.n; i++)
            place(&w, i);
        ok = cap >= out->n + w.n_lanes ||
             hu_vec_make_room(arena, (void **)&out->at, &cap, out->n + w.n_lanes, sizeof *out->at);
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
