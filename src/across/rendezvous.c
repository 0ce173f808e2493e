/* SPDX-License-Identifier: Apache-2.0
 * rendezvous.c - matches the collectives of several ranks, and reads from them who waits for whom.
 *
 * Match.  Collectives of one process group come in one order on all its ranks.  Where the profiler recorded sequence numbers
 * they say which is which; else each rank's list is laid against the shortest by the longest common subsequence of what
 * the calls are (name, type, bytes), so that a call which one trace lacks does not shift all that follow.  Where not even
 * the group was recorded, what was matched by order must end together (ends.h), or it does not count.
 *
 * Wait.  In a synchronising collective all ranks end nearly together, so the one that was in it for the shortest time came
 * last, and what the others took longer is waiting.  This needs no clocks:
 *
 *     transfer = min over ranks of dur      wait of a rank = dur - transfer      last = argmin dur
 *
 * It is an upper bound of the transfer: the last rank too may have been slowed down.  Clocks are those of clocks.c, sends
 * and receives those of messages.c, and what the network needs is in transfers.c.
 */
#include "across/rendezvous.h"

#include <math.h>
#include <stdlib.h>

#include "across/ends.h"
#include "base/sort.h"

enum {
    MOST_CELLS = 16000000, /* of the table of a common subsequence; longer lists are matched by their place */
    ALL_CELLS = 256000000, /* of all such tables of a job */
};

/* A call of one rank: a row of its digest's list. */
typedef struct {
    uint64_t group;
    uint32_t call;
} keyed;

/* The calls of one group on one rank, in time order. */
typedef struct {
    uint64_t     group;
    uint32_t     digest;
    const keyed *at;
    size_t       n;
} presence;

typedef struct {
    hu_arena      *scratch;
    hu_arena      *group; /* what one group needs, for there may be many on many ranks */
    hu_rendezvous *out;
    hu_meetings    meetings;
    HU_VEC(presence) presences; /* by group, then digest */
    size_t   cells;             /* that may still be filled */
    uint32_t n_groups;
} work;

static const hu_comm_call *call_of(const work *w, const presence *p, size_t i)
{
    return &w->meetings.digests[p->digest]->comm.calls_at[p->at[i].call];
}

static int by_group(const void *left, const void *right)
{
    const keyed *a = left, *b = right;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->call > b->call) - (a->call < b->call);
}

static int by_group_and_digest(const void *left, const void *right)
{
    const presence *a = left, *b = right;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->digest > b->digest) - (a->digest < b->digest);
}

/* The collectives of one rank by group; messages have two ends only, and are not for all of the group. */
static bool sort_calls(work *w, uint32_t digest)
{
    const hu_comm *comm = &w->meetings.digests[digest]->comm;
    keyed         *calls = hu_arena_alloc(w->scratch, (comm->n_calls_at + 1) * sizeof *calls);
    size_t         n = 0;

    if (!calls)
        return false;
    for (size_t i = 0; i < comm->n_calls_at; i++)
        if (!hu_comm_is_message(comm->calls_at[i].kind))
            calls[n++] = (keyed){comm->calls_at[i].group, (uint32_t)i};
    if (n)
        qsort(calls, n, sizeof *calls, by_group);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && calls[end].group == calls[first].group;)
            end++;
        if (!hu_vec_push(w->scratch, &w->presences, ((presence){calls[first].group, digest, calls + first, end - first})))
            return false;
    }
    w->out->at[digest].calls = (int64_t)n;
    return true;
}

/* NCCL counts each kind of collective of a communicator by itself. */
static bool has_sequences_of_kinds(const work *w, const presence *p)
{
    int64_t last[HU_COMM_KIND_COUNT];

    for (size_t i = 0; i < HU_COUNT(last); i++)
        last[i] = -1;
    for (size_t i = 0; i < p->n; i++) {
        const hu_comm_call *c = call_of(w, p, i);

        if (c->kind >= HU_COMM_KIND_COUNT || c->kind == HU_COMM_OTHER || c->sequence <= last[c->kind])
            return false;
        last[c->kind] = c->sequence;
    }
    return p->n > 0;
}

static void match_sequences_of_kinds(const work *w, const presence *a, const presence *b, uint32_t *partner)
{
    size_t at[HU_COMM_KIND_COUNT] = {0};

    for (size_t i = 0; i < a->n; i++) {
        const hu_comm_call *wanted = call_of(w, a, i);
        size_t              k = at[wanted->kind];

        while (k < b->n && (call_of(w, b, k)->kind != wanted->kind || call_of(w, b, k)->sequence < wanted->sequence))
            k++;
        at[wanted->kind] = k;
        partner[i] = k < b->n && call_of(w, b, k)->sequence == wanted->sequence ? (uint32_t)k : HU_NONE;
    }
}

static bool has_sequences(const work *w, const presence *p)
{
    int64_t last = -1;

    for (size_t i = 0; i < p->n; i++) {
        if (call_of(w, p, i)->sequence <= last)
            return false;
        last = call_of(w, p, i)->sequence;
    }
    return p->n > 0;
}

/* partner[i]: the place in b of a's call i; HU_NONE none. */
static void match_sequences(const work *w, const presence *a, const presence *b, uint32_t *partner)
{
    for (size_t i = 0, k = 0; i < a->n; i++) {
        const int64_t wanted = call_of(w, a, i)->sequence;

        while (k < b->n && call_of(w, b, k)->sequence < wanted)
            k++;
        partner[i] = k < b->n && call_of(w, b, k)->sequence == wanted ? (uint32_t)k : HU_NONE;
    }
}

static bool is_same(const work *w, const presence *a, size_t i, const presence *b, size_t k)
{
    return call_of(w, a, i)->what == call_of(w, b, k)->what;
}

/*
 * Where a's calls fit at several places of b, because a capture begins a little earlier on one rank and all calls are
 * alike: at which they end together.  Ends are compared as clocks show them, and where they never agree, less their
 * median distance.
 */
static bool find_shift(work *w, const presence *a, const presence *b, size_t most, size_t *best)
{
    enum { NEAR_NS = 200000, FEWEST = 4 };
    int64_t *apart = hu_arena_grow(w->group, NULL, (a->n + 1) * sizeof *apart);
    double   least[2] = {INFINITY, INFINITY};
    size_t   at[2] = {0, 0};

    if (!apart)
        return false;
    for (size_t shift = 0; shift <= most; shift++) {
        double apart_ns[2];
        bool   fits = true;

        for (size_t i = 0; i < a->n && fits; i++) {
            fits = is_same(w, a, i, b, i + shift);
            apart[i] = hu_comm_call_end(call_of(w, b, i + shift)) - hu_comm_call_end(call_of(w, a, i));
        }
        if (!fits)
            continue;
        hu_sort_i64(apart, a->n);
        apart_ns[0] = fabs(hu_stats_quantile(apart, a->n, 0.5));
        apart_ns[1] = hu_stats_quantile(apart, a->n, 0.75) - hu_stats_quantile(apart, a->n, 0.25);
        for (int k = 0; k < 2; k++)
            if (apart_ns[k] < least[k]) {
                least[k] = apart_ns[k];
                at[k] = shift;
            }
    }
    hu_arena_drop(w->group, apart);
    *best = least[0] <= NEAR_NS ? at[0] : a->n < FEWEST ? 0 : at[1];
    return true;
}

/* By the longest common subsequence; false when there is no memory. */
static bool match_order(work *w, const presence *a, const presence *b, uint32_t *partner)
{
    const size_t width = b->n + 1;
    size_t       same = 0;
    uint32_t    *length;

    while (same < a->n && same < b->n && is_same(w, a, same, b, same))
        same++;
    for (size_t i = 0; i < a->n; i++)
        partner[i] = i < same ? (uint32_t)i : HU_NONE;
    if (same == a->n && b->n > a->n && (b->n - a->n) * a->n <= MOST_CELLS) {
        size_t shift;

        if (!find_shift(w, a, b, b->n - a->n, &shift))
            return false;
        for (size_t i = 0; i < a->n; i++)
            partner[i] = (uint32_t)(i + shift);
    }
    if (same == a->n || same == b->n)
        return true;
    if ((a->n + 1) * width > MOST_CELLS || (a->n + 1) * width > w->cells) {
        for (size_t i = same; i < a->n && i < b->n; i++)
            partner[i] = is_same(w, a, i, b, i) ? (uint32_t)i : HU_NONE;
        return true;
    }
    w->cells -= (a->n + 1) * width;
    length = hu_arena_grow(w->group, NULL, (a->n + 1) * width * sizeof *length);
    if (!length)
        return false;
    memset(length, 0, (a->n + 1) * width * sizeof *length);
    for (size_t i = a->n; i-- > 0;)
        for (size_t k = b->n; k-- > 0;)
            length[i * width + k] = is_same(w, a, i, b, k) ? 1 + length[(i + 1) * width + k + 1]
                                    : length[(i + 1) * width + k] > length[i * width + k + 1] ? length[(i + 1) * width + k]
                                                                                              : length[i * width + k + 1];
    for (size_t i = 0; i < a->n; i++)
        partner[i] = HU_NONE;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (is_same(w, a, i, b, k))
            partner[i++] = (uint32_t)k++;
        else if (length[(i + 1) * width + k] >= length[i * width + k + 1])
            i++;
        else
            k++;
    }
    hu_arena_drop(w->group, length);
    return true;
}

static const hu_collective *row_of(const work *w, const presence *p, size_t i)
{
    return &w->meetings.digests[p->digest]->comm.at[call_of(w, p, i)->row];
}

/* Can they be one collective?  Sizes need not agree where each rank brings its own, as in an all-to-all. */
static bool is_one(const hu_collective *a, const hu_collective *b)
{
    const bool is_even = a->kind == HU_COMM_ALL_REDUCE || a->kind == HU_COMM_REDUCE_SCATTER ||
                         a->kind == HU_COMM_ALL_GATHER || a->kind == HU_COMM_BROADCAST;

    if (a->kind == HU_COMM_OTHER || b->kind == HU_COMM_OTHER)
        return true;
    return a->kind == b->kind && (!is_even || a->bytes < 0 || b->bytes < 0 || a->bytes == b->bytes);
}

/* By numbers alone calls may be laid beside each other that are not the same. */
static void compare(work *w, const presence *p, size_t n, uint32_t *const *partner, size_t i)
{
    const hu_collective *first = row_of(w, p, partner[0][i]);

    for (size_t k = 1; k < n; k++) {
        const hu_collective *other = row_of(w, &p[k], partner[k][i]);

        if (is_one(first, other))
            continue;
        if (w->out->mismatched++ == 0)
            w->out->first_mismatch = (hu_mismatch){
                {p->digest, p[k].digest}, {*first, *other}, call_of(w, p, partner[0][i])->sequence};
        return;
    }
}

/* One collective that all of the group were found in. */
static bool meet(work *w, const presence *p, size_t n, uint32_t *const *partner, const presence *reference, size_t i)
{
    hu_meetings *m = &w->meetings;
    hu_meeting   one = {.first = m->members.n,
                        .n = (uint32_t)n,
                        .group = w->n_groups,
                        .least_ns = INT64_MAX,
                        .synchronises = call_of(w, reference, i)->synchronises};

    for (size_t k = 0; k < n; k++) {
        const hu_comm_call *c = call_of(w, &p[k], partner[k][i]);

        one.least_ns = c->dur_ns < one.least_ns ? c->dur_ns : one.least_ns;
        one.is_posted |= c->is_posted;
        if (!hu_vec_push(w->scratch, &m->members, ((hu_member){p[k].digest, p[k].at[partner[k][i]].call})))
            return false;
    }
    one.synchronises &= !one.is_posted;
    w->out->matched++;
    compare(w, p, n, partner, i);
    return hu_vec_push(w->scratch, &m->list, one);
}

/*
 * The last `n` meetings are of calls of which neither group nor number is recorded: they stay when their ends agree.  Else
 * it may be another group on each rank.
 */
static bool judge_order(work *w, size_t n)
{
    hu_meetings *m = &w->meetings;
    hu_ends      ends;

    if (n == 0)
        return true;
    if (!hu_ends_compare(m, m->list.n - n, n, w->group, &ends))
        return false;
    if (ends.agree) {
        w->out->by_order += (int64_t)n;
        w->out->order_ns = ends.end_ns > w->out->order_ns ? ends.end_ns : w->out->order_ns;
        return true;
    }
    w->out->rejected += (int64_t)n;
    w->out->rejected_ns = ends.end_ns > w->out->rejected_ns ? ends.end_ns : w->out->rejected_ns;
    w->out->matched -= (int64_t)n;
    m->members.n = m->list.at[m->list.n - n].first;
    m->list.n -= n;
    return true;
}

/* Lays the calls of `n` ranks in one group beside those of the rank that has fewest: what it lacks was not found on all. */
static bool match_group(work *w, const presence *p, size_t n)
{
    uint32_t      **partner = hu_arena_calloc(w->group, n, sizeof *partner);
    const presence *reference = p;
    const int64_t   before = w->out->matched;
    bool            by_order = false;

    for (size_t k = 0; k < n; k++) {
        reference = p[k].n < reference->n ? &p[k] : reference;
        w->out->unmatched += (int64_t)p[k].n;
    }
    if (n < 2)
        return true;
    for (size_t k = 0; partner && k < n; k++) {
        partner[k] = hu_arena_alloc(w->group, (reference->n + 1) * sizeof **partner);
        if (!partner[k])
            return false;
        if (has_sequences(w, reference) && has_sequences(w, &p[k]))
            match_sequences(w, reference, &p[k], partner[k]);
        else if (has_sequences_of_kinds(w, reference) && has_sequences_of_kinds(w, &p[k]))
            match_sequences_of_kinds(w, reference, &p[k], partner[k]);
        else if (by_order = true, !match_order(w, reference, &p[k], partner[k]))
            return false;
    }
    if (!partner)
        return false;
    for (size_t i = 0; i < reference->n; i++) {
        size_t there = 0;

        for (size_t k = 0; k < n; k++)
            there += partner[k][i] != HU_NONE;
        if (there == n && !meet(w, p, n, partner, reference, i))
            return false;
    }
    if (by_order && call_of(w, reference, 0)->is_anonymous && !judge_order(w, (size_t)(w->out->matched - before)))
        return false;
    w->out->unmatched -= (int64_t)n * (w->out->matched - before);
    return true;
}

static bool match_alone(work *w, const presence *p, size_t n)
{
    bool ok;

    w->group = hu_arena_new();
    ok = w->group && match_group(w, p, n);
    hu_arena_free(w->group);
    w->group = NULL;
    w->n_groups++;
    return ok;
}

static bool match_all(work *w)
{
    const presence *p;

    for (size_t r = 0; r < w->meetings.n_digests; r++)
        if (!sort_calls(w, (uint32_t)r))
            return false;
    if (w->presences.n)
        qsort(w->presences.at, w->presences.n, sizeof *w->presences.at, by_group_and_digest);
    p = w->presences.at;
    for (size_t first = 0, end; first < w->presences.n; first = end) {
        for (end = first + 1; end < w->presences.n && p[end].group == p[first].group;)
            end++;
        if (!match_alone(w, p + first, end - first))
            return false;
    }
    return true;
}

/* Who waited in a collective, and for whom. */
static void share_waits(work *w, const hu_meeting *one)
{
    const hu_member *who = &w->meetings.members.at[one->first];
    int64_t          waited = 0;
    uint32_t         last = 0;

    while (hu_meetings_call(&w->meetings, who[last])->dur_ns != one->least_ns)
        last++;
    for (uint32_t i = 0; i < one->n; i++) {
        const int64_t wait = hu_meetings_call(&w->meetings, who[i])->dur_ns - one->least_ns;

        w->out->at[who[i].digest].wait_ns += wait;
        w->out->at[who[i].digest].transfer_ns += one->least_ns;
        waited += wait;
    }
    w->out->at[who[last].digest].last++;
    w->out->at[who[last].digest].caused_ns += waited / (one->n - 1);
}

/* Who met in what, for those that replay ranks together. */
static bool keep_meetings(const work *w, hu_arena *arena)
{
    const hu_meetings *m = &w->meetings;
    hu_rendezvous     *out = w->out;

    out->met = hu_arena_calloc(arena, m->n_digests + 1, sizeof *out->met);
    for (size_t r = 0; out->met && r < m->n_digests; r++) {
        const size_t bytes = (m->digests[r]->comm.n_calls_at + 1) * sizeof **out->met;

        out->met[r] = hu_arena_alloc(arena, bytes);
        if (!out->met[r])
            return false;
        memset(out->met[r], 0xff, bytes);
    }
    for (size_t i = 0; out->met && i < m->list.n; i++) {
        const hu_meeting *one = &m->list.at[i];

        for (size_t k = one->first; one->synchronises && k < one->first + one->n; k++)
            out->met[m->members.at[k].digest][m->members.at[k].call] = out->n_met;
        out->n_met += one->synchronises;
    }
    return out->met != NULL;
}

/* Messages too: two meet in each. */
static void keep_messages(hu_rendezvous *out)
{
    for (size_t i = 0; i < out->messages.n_pairs; i++, out->n_met++)
        for (int side = 0; side < 2; side++)
            out->met[out->messages.pairs[i].digest[side]][out->messages.pairs[i].call[side]] = out->n_met;
}

/* On one host a clock is a clock; else what it is behind must be known. */
static bool start_of(const work *w, hu_member who, int64_t *out)
{
    const hu_clocks *clocks = &w->out->clocks;
    const double     offset_ns = clocks->n_hosts > 1 ? clocks->at[who.digest].offset_ns : 0;

    *out = hu_meetings_call(&w->meetings, who)->start_ns - (isnan(offset_ns) ? 0 : (int64_t)offset_ns);
    return !isnan(offset_ns);
}

/* Who called last, and how long after the middle one of the others; false: not known. */
static bool last_to_call(const work *w, const hu_meeting *one, int64_t *starts, uint32_t *digest, int64_t *late_ns)
{
    const hu_member *who = &w->meetings.members.at[one->first];
    int64_t          latest = INT64_MIN;
    uint32_t         at = 0;

    for (uint32_t i = 0; i < one->n; i++) {
        if (!start_of(w, who[i], &starts[i]))
            return false;
        if (starts[i] > latest) {
            latest = starts[i];
            at = i;
        }
    }
    *digest = who[at].digest;
    starts[at] = starts[one->n - 1];
    hu_sort_i64(starts, one->n - 1);
    *late_ns = latest - starts[(one->n - 1) / 2];
    return true;
}

static bool measure_calls(work *w)
{
    const hu_meetings *m = &w->meetings;
    hu_called         *out = &w->out->called;
    int64_t           *starts = hu_arena_alloc(w->scratch, (m->n_digests + 1) * sizeof *starts);
    int64_t           *counts = hu_arena_calloc(w->scratch, m->n_digests + 1, sizeof *counts);
    int64_t           *late = hu_arena_alloc(w->scratch, (m->list.n + 1) * sizeof *late), late_ns;
    uint32_t          *who = hu_arena_alloc(w->scratch, (m->list.n + 1) * sizeof *who);
    size_t             n = 0, k = 0;

    if (!starts || !counts || !late || !who)
        return false;
    for (size_t i = 0; i < m->list.n; i++) {
        const hu_meeting *one = &m->list.at[i];

        out->matched += one->is_posted;
        if (!one->is_posted || one->n < 2 || one->n > m->n_digests || !last_to_call(w, one, starts, &who[n], &late_ns))
            continue;
        counts[who[n]]++;
        late[n++] = late_ns;
    }
    out->compared = (int64_t)n;
    for (size_t i = 0; i < m->n_digests; i++)
        if (counts[i] > out->last) {
            out->last = counts[i];
            out->digest = i;
        }
    for (size_t i = 0; i < n; i++)
        if (who[i] == out->digest)
            late[k++] = late[i];
    hu_sort_i64(late, k);
    out->late_ns = k ? hu_stats_quantile(late, k, 0.5) : 0;
    return true;
}

static bool ask_all(work *w, hu_arena *arena)
{
    hu_rendezvous      *out = w->out;
    hu_transfer_samples samples = {{0}};

    for (size_t i = 0; i < w->meetings.list.n; i++)
        if (w->meetings.list.at[i].synchronises)
            share_waits(w, &w->meetings.list.at[i]);
    return hu_clocks_measure(&w->meetings, arena, w->scratch, &out->clocks) &&
           hu_transfers_collect(&w->meetings, w->scratch, &samples) &&
           hu_messages_measure(w->meetings.digests, w->meetings.n_digests, &out->clocks, arena, w->scratch, &samples,
                               &out->messages) &&
           hu_transfers_measure(&samples, arena, w->scratch, &out->transfers) && measure_calls(w);
}

int hu_rendezvous_measure(hu_digest *const *digests, size_t n, hu_arena *arena, hu_arena *scratch, hu_rendezvous *out,
                          hu_error *err)
{
    work w = {.scratch = scratch, .out = out, .meetings = {.digests = digests, .n_digests = n}, .cells = ALL_CELLS};

    *out = (hu_rendezvous){.at = hu_arena_calloc(arena, n + 1, sizeof *out->at), .n = n};
    if (!out->at || !match_all(&w) || !keep_meetings(&w, arena) || !ask_all(&w, arena))
        return hu_fail_memory(err);
    keep_messages(out);
    return 0;
}
