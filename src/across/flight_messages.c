/* SPDX-License-Identifier: Apache-2.0
 * flight_messages.c - the n-th send from a to b goes with the n-th receive of b from a, in the same group.
 *
 * Numbers of sends and receives (p2p_seq_id) count all of a group on each rank for itself, so they match nothing; the order
 * of those with one peer does, as long as no ring lost its beginning.  Names hold places in the group ("send 0->1",
 * "recv 1<-0").
 */
#include "across/flight_messages.h"

#include "base/number.h"

/* Of one rank; a pipeline has a few at a time. */
enum { MOST_WAITS = 64 };

typedef struct {
    bool    is_send;
    int64_t from, to; /* ranks of the job */
} message;

/* The rank at a place of the group, by the dump that knows it; -1: not known. */
static int64_t rank_at(const hu_flight_dump *d, const hu_flight_entry *e, int64_t place)
{
    for (size_t i = 0; i < d->groups.n; i++) {
        const hu_flight_group *g = &d->groups.at[i];

        if (hu_str_equal(g->name, e->group))
            return place >= 0 && (size_t)place < g->n ? g->ranks[place] : -1;
    }
    return hu_str_equal(e->about, HU_STR("default_pg")) ? place : -1;
}

static bool read_message(const hu_flight_dump *d, const hu_flight_entry *e, message *out)
{
    const char *arrow;
    hu_str      name = e->operation;
    int64_t     first, second;

    out->is_send = hu_str_starts(name, HU_STR("send "));
    if (!e->is_p2p || (!out->is_send && !hu_str_starts(name, HU_STR("recv "))))
        return false;
    name = (hu_str){name.p + 5, name.n - 5};
    arrow = memmem(name.p, name.n, out->is_send ? "->" : "<-", 2);
    if (!arrow || !hu_parse_i64((hu_str){name.p, (size_t)(arrow - name.p)}, &first) ||
        !hu_parse_i64((hu_str){arrow + 2, (size_t)(name.p + name.n - arrow) - 2}, &second))
        return false;
    out->from = rank_at(d, e, out->is_send ? first : second);
    out->to = rank_at(d, e, out->is_send ? second : first);
    return out->from >= 0 && out->to >= 0;
}

static bool is_whole(const hu_flight_dump *d)
{
    return d->entries.n == 0 || d->entries.at[0].record == 0;
}

/* How many calls of this dump are this message's side `is_send`, up to the entry `end`. */
static size_t count(const hu_flight_dump *d, const hu_flight_entry *like, const message *m, bool is_send, size_t end)
{
    size_t n = 0;

    for (size_t i = 0; i < end; i++) {
        message other;

        n += hu_str_equal(d->entries.at[i].group, like->group) && read_message(d, &d->entries.at[i], &other) &&
             other.is_send == is_send && other.from == m->from && other.to == m->to;
    }
    return n;
}

static size_t dump_of(const hu_flight_dump *dumps, size_t n, int64_t rank)
{
    for (size_t i = 0; i < n; i++)
        if (dumps[i].rank == rank)
            return i;
    return n;
}

/* The dump whose rank never called its side of what dump d waits in, and that wait; n: none. */
static size_t blocker(const hu_flight_dump *dumps, size_t n, size_t d, const hu_flight_entry **wait)
{
    for (size_t i = 0, waits = 0; is_whole(&dumps[d]) && i < dumps[d].entries.n && waits < MOST_WAITS; i++) {
        const hu_flight_entry *e = &dumps[d].entries.at[i];
        message                m;
        size_t                 peer;

        if (e->state == HU_FLIGHT_ENDED || !read_message(&dumps[d], e, &m))
            continue;
        waits++;
        peer = dump_of(dumps, n, m.is_send ? m.to : m.from);
        if (peer == n || peer == d || !is_whole(&dumps[peer]))
            continue;
        if (count(&dumps[peer], e, &m, !m.is_send, dumps[peer].entries.n) < count(&dumps[d], e, &m, m.is_send, i + 1)) {
            *wait = e;
            return peer;
        }
    }
    return n;
}

int hu_flight_match_messages(const hu_flight_dump *dumps, size_t n, hu_flight_place *places, hu_arena *arena,
                             hu_flight_answer *out, hu_error *err)
{
    bool                  *seen = hu_arena_calloc(arena, n + 1, sizeof *seen);
    const hu_flight_entry *wait = NULL;
    size_t                 at = 0, next = n;

    if (!seen)
        return hu_fail_memory(err);
    while (at < n && (next = blocker(dumps, n, at, &wait)) == n)
        at++;
    if (next == n)
        return 0;
    for (; next < n && !seen[at]; next = blocker(dumps, n, at, &wait)) {
        seen[at] = true;
        out->expected = wait;
        out->waiting_rank = dumps[at].rank;
        at = next;
    }
    out->is_cycle = next < n;
    places[at].is_culprit = true;
    out->n_culprits = 1;
    out->group = out->expected->group;
    out->about = out->expected->about;
    out->trust = HU_FLIGHT_LIKELY;
    return 0;
}
