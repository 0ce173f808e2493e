/* SPDX-License-Identifier: Apache-2.0
 * xplane_threads.c - a line of calls and a line of annotations may be one thread.
 *
 * XLA numbers the threads of annotations by a hash, collectors those of calls by the system, so the same thread has two
 * lines.  XLA's executor annotates each operation that it launches, under the name that the launch carries, too (`hlo_op`):
 * where the launches of a line lie in annotations of their operations, and these are all on one other line, both are that
 * thread.  Lying inside of something would not do: a main thread is always inside of something.
 */
#include <stdlib.h>

#include "ingest/xplane.h"

enum { MOST_LOOKED_BACK = 64 };

static const double MOSTLY = 0.9;

typedef struct {
    int64_t  start_ns, end_ns;
    uint32_t name, line; /* line: its place in the plane */
} span;

typedef struct {
    HU_VEC(span) launches;
    HU_VEC(span) ranges;
    hu_map launched; /* string ids of operations that a call launches */
} sides;

static int by_name(const void *left, const void *right)
{
    const span *a = left, *b = right;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static bool take_event(xplane_reader *r, sides *s, const xplane_event *e, uint32_t line, bool wants_launches)
{
    span x = {e->slice.start_ns, e->slice.start_ns + e->slice.dur_ns, e->name_id, line};

    if (wants_launches) {
        const hu_str op = xplane_text(&e->stats, XPLANE_HLO_OP);
        uint32_t    *place;

        if (!op.n || !xplane_has(&e->stats, XPLANE_CORRELATION))
            return true;
        x.name = hu_builder_intern(r->b, op);
        place = hu_map_put(&s->launched, x.name);
        if (place)
            *place = 1;
        return place && hu_vec_push(r->arena, &s->launches, x);
    }
    return xplane_has(&e->stats, XPLANE_CORRELATION) || e->slice.dur_ns == 0 ||
           hu_map_get(&s->launched, x.name) == HU_MAP_NONE || hu_vec_push(r->arena, &s->ranges, x);
}

static bool collect(xplane_reader *r, xplane_plane *plane, sides *s, bool wants_launches)
{
    hu_protobuf  m = hu_protobuf_of(plane->message);
    xplane_line  line;
    xplane_event e;

    for (uint32_t at = 0; xplane_next_line(&m, &line); at++) {
        hu_protobuf events = hu_protobuf_of(line.message);

        while (xplane_next_event(r, plane, &line, &events, &e))
            if (!take_event(r, s, &e, at, wants_launches))
                return xplane_no_memory(r);
    }
    return true;
}

/* The line of an annotation around a launch that has its name; HU_NONE: there is none. */
static uint32_t line_around(const sides *s, const span *launch)
{
    size_t lo = 0, hi = s->ranges.n;

    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;
        const span  *x = &s->ranges.at[middle];

        if (x->name < launch->name || (x->name == launch->name && x->start_ns <= launch->start_ns))
            lo = middle + 1;
        else
            hi = middle;
    }
    for (int k = 0; k < MOST_LOOKED_BACK && lo > 0 && s->ranges.at[lo - 1].name == launch->name; k++, lo--)
        if (s->ranges.at[lo - 1].end_ns >= launch->end_ns && s->ranges.at[lo - 1].line != launch->line)
            return s->ranges.at[lo - 1].line;
    return HU_NONE;
}

static int by_line(const void *left, const void *right)
{
    const span *a = left, *b = right;

    return (a->line > b->line) - (a->line < b->line);
}

/* Of launches [from, to), which are on one line: does nearly each lie in an annotation of its own on one other line? */
static bool agree(const sides *s, size_t from, size_t to, uint32_t *home)
{
    size_t found = 0;

    *home = HU_NONE;
    for (size_t i = from; i < to; i++) {
        const uint32_t line = line_around(s, &s->launches.at[i]);

        if (*home == HU_NONE)
            *home = line;
        found += line != HU_NONE && line == *home;
    }
    return *home != HU_NONE && (double)found >= MOSTLY * (double)(to - from);
}

bool xplane_join_threads(xplane_reader *r, xplane_plane *plane, hu_map *home_of)
{
    const hu_quality kept = *hu_builder_quality(r->b); /* events are counted when they are read for good */
    const int64_t    n_sums = r->n_sums;
    sides            s = {0};
    bool             ok = hu_map_init(&s.launched, r->arena, 0) && collect(r, plane, &s, true);

    if (ok && s.launches.n)
        ok = collect(r, plane, &s, false);
    *hu_builder_quality(r->b) = kept;
    r->n_sums = n_sums;
    if (ok && s.ranges.n) {
        qsort(s.ranges.at, s.ranges.n, sizeof *s.ranges.at, by_name);
        qsort(s.launches.at, s.launches.n, sizeof *s.launches.at, by_line);
        for (size_t from = 0, to; from < s.launches.n; from = to) {
            uint32_t home, *place;

            for (to = from; to < s.launches.n && s.launches.at[to].line == s.launches.at[from].line;)
                to++;
            if (!agree(&s, from, to, &home))
                continue;
            if (!(place = hu_map_put(home_of, s.launches.at[from].line)))
                return xplane_no_memory(r);
            *place = home;
        }
    }
    hu_arena_drop(r->arena, s.ranges.at);
    hu_arena_drop(r->arena, s.launches.at);
    return ok;
}
