/* SPDX-License-Identifier: Apache-2.0
 * nest.c - the shorter slice is the inner one.
 *
 *     parent(x)  the shortest slice of the thread that wholly contains x
 *     self(x)    the time in which x is the shortest slice that is open: each instant of a thread is the self time of one
 *
 * Where slices nest, that is what everybody expects.  They do not always: record_function() begins inside of Python's frames
 * __enter__ and __call__ and outlasts them, and ProfilerStep ends and begins inside of step().  What such a frame calls lies
 * in the frame, not in the range that happens to begin there, and the frame is not in the range either.  Python's own parent
 * ids say the same ("Python parent id" of the trace).
 *
 * Profilers round start and duration on their own, so a child may end up to a microsecond after its parent: it is a child
 * when it is no longer, and more of it lies inside than sticks out.
 *
 * Open slices are kept by their ends, so that those which contain the next one are a prefix of them; each knows the shortest
 * of its prefix.  Only a slice that crosses is put in below others.  One that crosses more than MOST_CROSSED ends the scope
 * of those, so that no file makes this take longer than a few times its length.
 */
#include "trace/nest.h"

enum { MOST_CROSSED = 256 };

typedef struct {
    int64_t  end_ns, dur_ns;
    uint32_t slice, at; /* place in the order */
    uint32_t shortest;  /* of this one and those before it */
    bool     is_counted;
} open_slice;

typedef struct {
    hu_nest         *nest;
    const hu_slices *s;
    HU_VEC(open_slice) open;
    int64_t now_ns;
} sweep;

static bool is_shorter(const open_slice *a, const open_slice *b)
{
    return a->dur_ns < b->dur_ns || (a->dur_ns == b->dur_ns && a->at > b->at);
}

static void find_shortest(sweep *w, size_t from)
{
    for (size_t k = from; k < w->open.n; k++) {
        const uint32_t before = k ? w->open.at[k - 1].shortest : 0;

        w->open.at[k].shortest = k == 0 || is_shorter(&w->open.at[k], &w->open.at[before]) ? (uint32_t)k : before;
    }
}

/* Notes what is open when a slice ends, if that is not its parent. */
static bool note_after(sweep *w, const open_slice *ended, uint32_t now)
{
    return !w->nest->after || now == w->nest->parent[ended->slice] ||
           hu_vec_push(w->nest->arena, w->nest->after, ((hu_nest_pair){ended->slice, now}));
}

/* Time until `to_ns` is the self time of the shortest that is open. */
static void pass(sweep *w, int64_t to_ns)
{
    const hu_interval window = w->nest->window;
    const int64_t     from = w->now_ns > window.start_ns ? w->now_ns : window.start_ns;
    const int64_t     to = to_ns < window.end_ns ? to_ns : window.end_ns;

    if (w->open.n && w->nest->self_ns && to > from)
        w->nest->self_ns[w->open.at[w->open.at[w->open.n - 1].shortest].slice] += to - from;
    w->now_ns = to_ns > w->now_ns ? to_ns : w->now_ns;
}

static bool close_until(sweep *w, int64_t time_ns)
{
    while (w->open.n && w->open.at[w->open.n - 1].end_ns <= time_ns) {
        const open_slice *ended = &w->open.at[w->open.n - 1];

        pass(w, ended->end_ns);
        w->open.n--;
        if (!note_after(w, ended, w->open.n ? w->open.at[w->open.at[w->open.n - 1].shortest].slice : HU_NONE))
            return false;
    }
    pass(w, time_ns);
    return true;
}

/* Is `x`, which ends after `above`, its child but for rounding? */
static bool is_rounded(const open_slice *above, const open_slice *x, int64_t start_ns)
{
    const int64_t out = x->end_ns - above->end_ns;

    return out <= HU_NEST_ROUNDING_NS && out <= above->end_ns - start_ns && x->dur_ns <= above->dur_ns;
}

/* It crosses those from place `from` on. */
static bool cross(sweep *w, const open_slice *x, int64_t start_ns, size_t from)
{
    uint32_t early = x->at;

    w->nest->crossed++;
    for (size_t k = from; k < w->open.n; k++) {
        open_slice *other = &w->open.at[k];

        if (w->nest->quality && !other->is_counted && x->end_ns - other->end_ns > HU_NEST_ROUNDING_NS) {
            hu_quality_count(w->nest->quality, HU_REASON_CROSSING, other->end_ns - start_ns);
            other->is_counted = true;
        }
        if (is_shorter(other, x) && other->at < early)
            early = other->at;
    }
    return !w->nest->early || early == x->at || hu_vec_push(w->nest->arena, w->nest->early, ((hu_nest_pair){x->at, early}));
}

static bool put(sweep *w, const open_slice *x)
{
    const int64_t start = w->s->start_ns[x->slice];
    size_t        at = w->open.n;
    uint32_t      parent;

    while (at && w->open.at[at - 1].end_ns < x->end_ns)
        at--;
    parent = at ? w->open.at[at - 1].shortest : HU_NONE;
    for (size_t k = at; k < w->open.n && x->end_ns - w->open.at[k].end_ns <= HU_NEST_ROUNDING_NS; k++)
        if (is_rounded(&w->open.at[k], x, start) && (parent == HU_NONE || is_shorter(&w->open.at[k], &w->open.at[parent])))
            parent = (uint32_t)k;
    if (w->nest->parent)
        w->nest->parent[x->slice] = parent == HU_NONE ? HU_NONE : w->open.at[parent].slice;
    if (at < w->open.n && !cross(w, x, start, at))
        return false;
    for (size_t k = at, n = w->open.n; n - at > MOST_CROSSED && k < n; k++, w->open.n = at)
        if (!note_after(w, &w->open.at[k], x->slice))
            return false;
    if (!hu_vec_reserve(w->nest->arena, &w->open, 1))
        return false;
    memmove(w->open.at + at + 1, w->open.at + at, (w->open.n - at) * sizeof *w->open.at);
    w->open.at[at] = *x;
    w->open.n++;
    find_shortest(w, at);
    return true;
}

bool hu_nest_thread(hu_nest *nest, const hu_slices *s, const uint32_t *order, uint32_t n)
{
    sweep w = {.nest = nest, .s = s, .now_ns = INT64_MIN};
    bool  ok = true;

    for (uint32_t i = 0; i < n && ok; i++) {
        const uint32_t slice = order[i];

        if (!hu_kind_in(s->kind[slice], nest->kinds))
            continue;
        ok = close_until(&w, s->start_ns[slice]) &&
             put(&w,
                 &(open_slice){
                     .end_ns = s->start_ns[slice] + s->dur_ns[slice], .dur_ns = s->dur_ns[slice], .slice = slice, .at = i});
    }
    ok = ok && close_until(&w, INT64_MAX);
    hu_arena_drop(nest->arena, w.open.at);
    return ok;
}

bool hu_nest_kinds(const hu_trace *trace, unsigned kinds, uint32_t *parent, int64_t *self_ns, hu_arena *scratch)
{
    const hu_slices s = hu_trace_slices(trace);
    hu_nest         nest = {
                .kinds = kinds, .window = {INT64_MIN, INT64_MAX}, .parent = parent, .self_ns = self_ns, .arena = scratch};
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(trace, &n);

    memset(parent, 0xff, s.n * sizeof *parent);
    memset(self_ns, 0, s.n * sizeof *self_ns);
    for (size_t k = 0; k < n; k++)
        if (tracks[k].type == HU_TRACK_HOST &&
            !hu_nest_thread(&nest, &s, hu_trace_order(trace) + tracks[k].first, tracks[k].count))
            return false;
    return true;
}
