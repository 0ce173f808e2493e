/* SPDX-License-Identifier: Apache-2.0
 * rendezvous.c - matches the collectives of several ranks, and reads from them who waits for whom.
 *
 * Match.  Collectives of one process group come in one order on all its ranks.  Where the profiler recorded sequence numbers
 * they say which is which; else each rank's list is laid against the reference's by the longest common subsequence of what
 * the calls are (name, type, bytes), so that a call which one trace lacks does not shift all that follow.
 *
 * Wait.  In a synchronising collective all ranks end nearly together, so the one that was in it for the shortest time came
 * last, and what the others took longer is waiting.  This needs no clocks:
 *
 *     transfer = min over ranks of dur      wait of a rank = dur - transfer      last = argmin dur
 *
 * It is an upper bound of the transfer: the last rank too may have been slowed down.
 *
 * Clocks.  The ends of synchronising collectives are compared with those of the reference: ranks of one host share a clock,
 * so they share a line.  Pairs beyond 5 median deviations are dropped; the slope is Theil's and Sen's, and it is 0 unless
 * it makes a difference over the window that is larger than twice the error of the median.  How ends differ by the order of
 * a ring's hops cannot be told from a difference of clocks: the floor is a few microseconds.
 */
#include "analyze/rendezvous.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/sort.h"

enum {
    MOST_CELLS = 16000000,      /* of the table of a common subsequence; longer lists are matched by their place */
    MOST_PAIRS = 600,           /* for a slope, whose cost grows with their square                               */
    LEAST_PAIRS = 8,
};

/* The calls of one group on one rank, in time order: rows of its digest's list. */
typedef struct {
    uint64_t group;
    uint32_t call;
} keyed;

typedef struct {
    const keyed *at;
    size_t       n;
} attendants;

typedef struct {
    hu_digest *const *digests;
    size_t            n;
    hu_arena         *scratch;
    hu_arena         *group;            /* what one group needs, for there may be many on many ranks */
    hu_rendezvous    *out;
    keyed           **calls;            /* of each rank, by group, then time */
    /* pairs of ends by rank: when, and how much later than the reference's */
    struct pairs {
        HU_VEC(int64_t) at, later;
    } *pairs;
} work;

static const hu_comm_call *call_of(const work *w, size_t rank, const attendants *a, size_t i)
{
    return &w->digests[rank]->comm.calls_at[a->at[i].call];
}

static int64_t end_of(const hu_comm_call *c)
{
    return c->start_ns + c->dur_ns;
}

static int by_group(const void *left, const void *right)
{
    const keyed *a = left, *b = right;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->call < b->call ? -1 : 1;
}

static bool forget_meetings(hu_digest *const *digests, size_t n, hu_arena *arena, hu_rendezvous *out)
{
    out->met = hu_arena_calloc(arena, n + 1, sizeof *out->met);
    for (size_t r = 0; out->met && r < n; r++) {
        const size_t bytes = (digests[r]->comm.n_calls_at + 1) * sizeof **out->met;

        out->met[r] = hu_arena_alloc(arena, bytes);
        if (!out->met[r])
            return false;
        memset(out->met[r], 0xff, bytes);
    }
    return out->met != NULL;
}

static bool sort_calls(work *w)
{
    w->calls = hu_arena_calloc(w->scratch, w->n + 1, sizeof *w->calls);
    for (size_t r = 0; w->calls && r < w->n; r++) {
        const hu_comm *comm = &w->digests[r]->comm;

        w->calls[r] = hu_arena_calloc(w->scratch, comm->n_calls_at + 1, sizeof *w->calls[r]);
        if (!w->calls[r])
            return false;
        for (size_t i = 0; i < comm->n_calls_at; i++)
            w->calls[r][i] = (keyed){comm->calls_at[i].group, (uint32_t)i};
        if (comm->n_calls_at)
            qsort(w->calls[r], comm->n_calls_at, sizeof *w->calls[r], by_group);
    }
    return w->calls != NULL;
}

/* The rows of one group on each rank. */
static void gather(const work *w, uint64_t group, attendants *lists)
{
    for (size_t r = 0; r < w->n; r++) {
        const size_t n = w->digests[r]->comm.n_calls_at;
        size_t       low = 0, high = n;

        while (low < high) {
            const size_t middle = low + (high - low) / 2;

            if (w->calls[r][middle].group < group)
                low = middle + 1;
            else
                high = middle;
        }
        lists[r] = (attendants){.at = w->calls[r] + low};
        while (low + lists[r].n < n && lists[r].at[lists[r].n].group == group)
            lists[r].n++;
    }
}

static bool has_sequences(const work *w, size_t rank, const attendants *a)
{
    int64_t last = -1;

    for (size_t i = 0; i < a->n; i++) {
        if (call_of(w, rank, a, i)->sequence <= last)
            return false;
        last = call_of(w, rank, a, i)->sequence;
    }
    return a->n > 0;
}

/* partner[i]: the place in b of a's call i; HU_NONE none. */
static void match_sequences(const work *w, size_t ra, const attendants *a, size_t rb, const attendants *b, uint32_t *partner)
{
    for (size_t i = 0, k = 0; i < a->n; i++) {
        const int64_t wanted = call_of(w, ra, a, i)->sequence;

        while (k < b->n && call_of(w, rb, b, k)->sequence < wanted)
            k++;
        partner[i] = k < b->n && call_of(w, rb, b, k)->sequence == wanted ? (uint32_t)k : HU_NONE;
    }
}

static bool is_same(const work *w, size_t ra, const attendants *a, size_t i, size_t rb, const attendants *b, size_t k)
{
    return call_of(w, ra, a, i)->what == call_of(w, rb, b, k)->what;
}

/* By the longest common subsequence; false when there is no memory. */
static bool match_order(const work *w, size_t ra, const attendants *a, size_t rb, const attendants *b, uint32_t *partner)
{
    const size_t width = b->n + 1;
    size_t       same = 0;
    uint32_t    *length;

    while (same < a->n && same < b->n && is_same(w, ra, a, same, rb, b, same))
        same++;
    for (size_t i = 0; i < a->n; i++)
        partner[i] = i < same ? (uint32_t)i : HU_NONE;
    if (same == a->n || same == b->n)
        return true;
    if ((a->n + 1) * width > MOST_CELLS) {
        for (size_t i = same; i < a->n && i < b->n; i++)
            partner[i] = is_same(w, ra, a, i, rb, b, i) ? (uint32_t)i : HU_NONE;
        return true;
    }
    length = hu_arena_grow(w->group, NULL, (a->n + 1) * width * sizeof *length);
    if (!length)
        return false;
    memset(length, 0, (a->n + 1) * width * sizeof *length);
    for (size_t i = a->n; i-- > 0; )
        for (size_t k = b->n; k-- > 0; )
            length[i * width + k] = is_same(w, ra, a, i, rb, b, k) ? 1 + length[(i + 1) * width + k + 1]
                                    : length[(i + 1) * width + k] > length[i * width + k + 1] ? length[(i + 1) * width + k]
                                                                                               : length[i * width + k + 1];
    for (size_t i = 0; i < a->n; i++)
        partner[i] = HU_NONE;
    for (size_t i = 0, k = 0; i < a->n && k < b->n; ) {
        if (is_same(w, ra, a, i, rb, b, k))
            partner[i++] = (uint32_t)k++;
        else if (length[(i + 1) * width + k] >= length[i * width + k + 1])
            i++;
        else
            k++;
    }
    hu_arena_drop(w->group, length);
    return true;
}

/* What one collective says: its ranks' times in it, and for clocks when they left it. */
static bool meet(work *w, const attendants *lists, uint32_t *const *partner, size_t reference, size_t i)
{
    const size_t        clock = w->out->reference;
    const hu_comm_call *mine = call_of(w, reference, &lists[reference], i);
    const hu_comm_call *true_one = lists[clock].n ? call_of(w, clock, &lists[clock], partner[clock][i]) : NULL;
    int64_t             least = INT64_MAX, waited = 0, others = 0;
    size_t              last = 0;

    for (size_t r = 0; r < w->n; r++) {
        const hu_comm_call *c = lists[r].n ? call_of(w, r, &lists[r], partner[r][i]) : NULL;

        if (c && c->dur_ns < least) {
            least = c->dur_ns;
            last = r;
        }
    }
    for (size_t r = 0; r < w->n; r++) {
        const hu_comm_call *c = lists[r].n ? call_of(w, r, &lists[r], partner[r][i]) : NULL;
        struct pairs       *p = &w->pairs[r];

        if (!c || !mine->synchronises)
            continue;
        w->out->met[r][lists[r].at[partner[r][i]].call] = w->out->n_met;
        w->out->at[r].wait_ns += c->dur_ns - least;
        w->out->at[r].transfer_ns += least;
        waited += c->dur_ns - least;
        others += r != last;
        if (true_one && r != clock && (!hu_vec_push(w->scratch, &p->at, end_of(true_one)) ||
                                       !hu_vec_push(w->scratch, &p->later, end_of(c) - end_of(true_one))))
            return false;
    }
    w->out->n_met += mine->synchronises;
    if (mine->synchronises && others) {
        w->out->at[last].last++;
        w->out->at[last].caused_ns += waited / others;
    }
    w->out->matched++;
    return true;
}

static bool match_group(work *w, uint64_t group)
{
    attendants *lists = hu_arena_calloc(w->group, w->n, sizeof *lists);
    uint32_t  **partner = hu_arena_calloc(w->group, w->n, sizeof *partner);
    size_t      reference = 0, members = 0;

    if (!lists || !partner)
        return false;
    gather(w, group, lists);
    for (size_t r = 0; r < w->n; r++) {
        members += lists[r].n > 0;
        if (lists[r].n > lists[reference].n)
            reference = r;
        w->out->at[r].calls += (int64_t)lists[r].n;
    }
    for (size_t r = 0; r < w->n; r++) {
        if (!lists[r].n)
            continue;
        partner[r] = hu_arena_alloc(w->group, (lists[reference].n + 1) * sizeof **partner);
        if (!partner[r])
            return false;
        if (has_sequences(w, reference, &lists[reference]) && has_sequences(w, r, &lists[r]))
            match_sequences(w, reference, &lists[reference], r, &lists[r], partner[r]);
        else if (!match_order(w, reference, &lists[reference], r, &lists[r], partner[r]))
            return false;
    }
    for (size_t i = 0; i < lists[reference].n; i++) {
        size_t there = 0;

        for (size_t r = 0; r < w->n; r++)
            there += lists[r].n && partner[r][i] != HU_NONE;
        if (there == members && members > 1 && !meet(w, lists, partner, reference, i))
            return false;
        w->out->unmatched += there == members && members > 1 ? 0 : (int64_t)there;
    }
    for (size_t r = 0; r < w->n; r++) {             /* calls that the reference lacks */
        size_t found = 0;

        for (size_t i = 0; lists[r].n && i < lists[reference].n; i++)
            found += partner[r][i] != HU_NONE;
        w->out->unmatched += (int64_t)(lists[r].n - found);
    }
    return true;
}

static bool match_alone(work *w, uint64_t group)
{
    bool ok;

    w->group = hu_arena_new();
    ok = w->group && match_group(w, group);
    hu_arena_free(w->group);
    w->group = NULL;
    return ok;
}

static bool match_all(work *w)
{
    hu_map seen;

    if (!hu_map_init(&seen, w->scratch, 16))
        return false;
    for (size_t r = 0; r < w->n; r++) {
        const hu_comm *comm = &w->digests[r]->comm;

        for (size_t i = 0; i < comm->n_calls_at; i++) {
            uint32_t *place = hu_map_put(&seen, comm->calls_at[i].group);

            if (!place)
                return false;
            if (*place != HU_MAP_NONE)
                continue;
            *place = 0;
            if (!match_alone(w, comm->calls_at[i].group))
                return false;
        }
    }
    return true;
}

/* clocks */

/* A line: later = offset + slope * (at - middle). */
typedef struct {
    double  offset_ns, slope;
    int64_t middle_ns;
} line;

static double median_of(int64_t *values, size_t n)
{
    hu_sort_i64(values, n);
    return hu_stats_quantile(values, n, 0.5);
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Drops what lies far from the others, in place.  False when there is no memory. */
static bool drop_outliers(struct pairs *p, hu_arena *scratch)
{
    int64_t *copy = hu_arena_alloc(scratch, (p->at.n + 1) * sizeof *copy);
    double   middle, deviation;
    size_t   kept = 0;

    if (!copy)
        return false;
    memcpy(copy, p->later.at, p->later.n * sizeof *copy);
    middle = median_of(copy, p->later.n);
    for (size_t i = 0; i < p->later.n; i++)
        copy[i] = llabs(p->later.at[i] - (int64_t)middle);
    deviation = median_of(copy, p->later.n);
    for (size_t i = 0; i < p->later.n; i++) {
        if (fabs((double)p->later.at[i] - middle) > 5 * deviation + 1)
            continue;
        p->at.at[kept] = p->at.at[i];
        p->later.at[kept++] = p->later.at[i];
    }
    p->at.n = p->later.n = kept;
    return true;
}

/* Through the pairs of one host. */
static bool fit(struct pairs *p, hu_arena *scratch, line *out)
{
    const size_t every = p->at.n / MOST_PAIRS + 1, most = p->at.n / every + 1;
    double      *slopes = hu_arena_grow(scratch, NULL, (most * most / 2 + 1) * sizeof *slopes), deviation, window;
    int64_t     *copy = hu_arena_alloc(scratch, (p->at.n + 1) * sizeof *copy), first, last;
    size_t       n = 0;

    if (!slopes || !copy)
        return false;
    first = last = p->at.at[0];
    for (size_t i = 0; i < p->at.n; i++) {
        first = p->at.at[i] < first ? p->at.at[i] : first;
        last = p->at.at[i] > last ? p->at.at[i] : last;
    }
    out->middle_ns = first + (last - first) / 2;
    window = (double)(last - first);
    for (size_t i = 0; i < p->at.n; i += every)
        for (size_t k = i + every; k < p->at.n; k += every)
            if (p->at.at[k] != p->at.at[i] && n < most * most / 2)
                slopes[n++] = (double)(p->later.at[k] - p->later.at[i]) / (double)(p->at.at[k] - p->at.at[i]);
    qsort(slopes, n, sizeof *slopes, by_value);
    out->slope = n ? slopes[n / 2] : 0;
    hu_arena_drop(scratch, slopes);
    for (size_t i = 0; i < p->at.n; i++)
        copy[i] = llround((double)p->later.at[i] - out->slope * (double)(p->at.at[i] - out->middle_ns));
    out->offset_ns = median_of(copy, p->at.n);
    for (size_t i = 0; i < p->at.n; i++)
        copy[i] = llabs(copy[i] - llround(out->offset_ns));
    deviation = median_of(copy, p->at.n);
    if (window * fabs(out->slope) > 2 * deviation / sqrt((double)p->at.n))
        return true;
    out->slope = 0;
    memcpy(copy, p->later.at, p->at.n * sizeof *copy);
    out->offset_ns = median_of(copy, p->at.n);
    return true;
}

/* Ranks of the reference's host have its clock; those of another share one. */
static bool is_one_clock(const work *w, size_t a, size_t b)
{
    const hu_str x = w->digests[a]->info.host, y = w->digests[b]->info.host;

    return a == b || (x.n && hu_str_equal(x, y));
}

/* All pairs of the clock that rank r reads. */
static bool pool(const work *w, size_t r, struct pairs *out)
{
    for (size_t k = 0; k < w->n; k++)
        for (size_t i = 0; is_one_clock(w, r, k) && i < w->pairs[k].at.n; i++)
            if (!hu_vec_push(w->scratch, &out->at, w->pairs[k].at.at[i]) ||
                !hu_vec_push(w->scratch, &out->later, w->pairs[k].later.at[i]))
                return false;
    return true;
}

static bool align(work *w)
{
    HU_VEC(int64_t) rest = {0};

    for (size_t r = 0; r < w->n; r++) {
        hu_attendance *a = &w->out->at[r];
        struct pairs   all = {{0}, {0}};
        line           l = {0};

        a->offset_ns = is_one_clock(w, r, w->out->reference) ? 0 : (double)NAN;
        if (!pool(w, r, &all))
            return false;
        if (isnan(a->offset_ns) && all.at.n >= LEAST_PAIRS) {
            if (!drop_outliers(&all, w->scratch) || !fit(&all, w->scratch, &l))
                return false;
            a->offset_ns = l.offset_ns;
            a->drift_ppm = 1e6 * l.slope;
        }
        for (size_t i = 0; !isnan(a->offset_ns) && i < w->pairs[r].at.n; i++) {
            const double clock = l.offset_ns + l.slope * (double)(w->pairs[r].at.at[i] - l.middle_ns);

            if (!hu_vec_push(w->scratch, &rest, llabs(w->pairs[r].later.at[i] - llround(clock))))
                return false;
        }
    }
    w->out->n_ends = rest.n;
    w->out->residual_ns = rest.n ? median_of(rest.at, rest.n) : (double)NAN;
    w->out->worst_ns = rest.n ? (double)rest.at[rest.n - 1] : (double)NAN;
    return true;
}

int hu_rendezvous_measure(hu_digest *const *digests, size_t n, hu_arena *arena, hu_arena *scratch, hu_rendezvous *out,
                          hu_error *err)
{
    work w = {.digests = digests, .n = n, .scratch = scratch, .out = out};

    *out = (hu_rendezvous){.at = hu_arena_calloc(arena, n + 1, sizeof *out->at), .n = n, .residual_ns = (double)NAN,
                           .worst_ns = (double)NAN};
    w.pairs = hu_arena_calloc(scratch, n + 1, sizeof *w.pairs);
    if (!out->at || !w.pairs || !forget_meetings(digests, n, arena, out) || !sort_calls(&w) || !match_all(&w) || !align(&w))
        return hu_fail_memory(err);
    return 0;
}
