/* SPDX-License-Identifier: Apache-2.0
 * joins.c - a thread waits until another thread or a child process has ended (pthread_join, waitpid).
 *
 * Such a call returns when the other one has ended: where its life was recorded, that is known, whatever it was seen to do;
 * else its last recorded piece of work is over.  So the time in the call is that one's time: the
 * call itself costs nothing, what comes behind it waits for that piece, and the other one begins when the main thread had
 * done what it did before.  Of several the one that ends last is waited for.  A call that no thread's end explains stays
 * what it was: so long a wait.  So does one for a thread that was told to end, however long that lived.  Locks and
 * conditions are not joined: a recording does not tell who released them.
 */
#include "analyze/host_calls.h"
#include "graph/build.h"

enum {
    LEAST_WAIT_NS = 50000,
    LATE_NS = 500000, /* from the last piece of work to the return of who waits, */
    MANY_PAUSES = 20, /* for each that is left, of a thread that looks whether it is to end; else it may be by chance */
    LATE_PART = 4,    /* or this part of the wait: a thread may compute unrecorded at its end */
};

typedef struct {
    hu_building     *b;
    hu_lane_nodes    l;
    const hu_track **track;        /* by lane */
    uint32_t        *first, *last; /* by lane: its first and last piece of work, as places in l.of_lane; HU_NONE */
    uint8_t         *is_joined;    /* by lane: somebody waits for its end */
} work;

static bool is_busy(const hu_track *t, const hu_node *n)
{
    if (t->n_stretches)
        return n->start_ns >= t->born_ns && n->seen_ns > 0;
    return n->call != HU_CALL_NONE || n->slice != HU_NONE;
}

static bool find_ends(work *w)
{
    const hu_building *b = w->b;
    const hu_ask      *ask = b->ask;
    uint32_t           lane = 0;

    w->track = hu_arena_alloc(ask->scratch, (b->g->n_lanes + 1) * sizeof *w->track);
    w->first = hu_arena_alloc(ask->scratch, (b->g->n_lanes + 1) * sizeof *w->first);
    w->last = hu_arena_alloc(ask->scratch, (b->g->n_lanes + 1) * sizeof *w->last);
    if (!w->track || !w->first || !w->last)
        return false;
    for (uint32_t t = 0; t < ask->n_tracks; t++)
        if (ask->tracks[t].type == HU_TRACK_HOST)
            w->track[lane++] = &ask->tracks[t];
    for (lane = 0; lane < b->g->n_lanes; lane++) {
        w->first[lane] = w->last[lane] = HU_NONE;
        for (uint32_t k = w->l.first[lane]; k < w->l.first[lane + 1]; k++) {
            if (!is_busy(w->track[lane], &b->nodes.at[w->l.of_lane[k]]))
                continue;
            w->first[lane] = w->first[lane] == HU_NONE ? k : w->first[lane];
            w->last[lane] = k;
        }
    }
    return true;
}

/* Does the node wait for a thread of its process (0), for a child process (1), or for neither (-1)? */
static int waits_for(const work *w, const hu_node *n)
{
    const hu_ask *ask = w->b->ask;

    if (n->class != HU_CLASS_WAIT || n->slice == HU_NONE || ask->s.kind[n->slice] != HU_KIND_OS_CALL ||
        n->seen_ns < LEAST_WAIT_NS)
        return -1;
    if (hu_host_calls_class(ask, n->slice) == HU_HOST_CHILD)
        return 1;
    return hu_str_starts(hu_ask_name(ask, n->slice), HU_STR("pthread_join")) ? 0 : -1;
}

/* Nobody waits for who was there before. */
static bool may_be_child(const hu_track *parent, const hu_track *child)
{
    return !parent->n_stretches || !child->n_stretches || child->born_ns >= parent->born_ns;
}

/* The lane whose end ends a wait, and that nobody else waits for; HU_NONE. */
static uint32_t who_ends(const work *w, const hu_node *n, bool is_child)
{
    const hu_building *b = w->b;
    const int64_t      until = n->start_ns + n->seen_ns;
    const int64_t      late = n->seen_ns / LATE_PART > LATE_NS ? n->seen_ns / LATE_PART : LATE_NS;
    uint32_t           best = HU_NONE;
    int64_t            best_end = INT64_MIN;

    for (uint32_t lane = 0; lane < b->g->n_lanes; lane++) {
        const bool is_other = w->track[lane]->pid != w->track[n->lane]->pid;
        int64_t    end;

        if (lane == n->lane || w->last[lane] == HU_NONE || is_other != is_child || w->is_joined[lane] ||
            !may_be_child(w->track[n->lane], w->track[lane]))
            continue;
        end = hu_build_node_end(b, w->l.of_lane[w->last[lane]]);
        if (end > n->start_ns && end <= until && until - end <= late && end > best_end) {
            best = lane;
            best_end = end;
        }
    }
    return best;
}

/* The last wait of a lane, and the node that it lies in; HU_NONE: there is none. */
static uint32_t find_last_wait(const work *w, uint32_t lane, hu_interval *out)
{
    const hu_building *b = w->b;
    const hu_track    *t = w->track[lane];
    size_t             n;
    const hu_stretch  *s = hu_trace_stretches(b->ask->trace, &n);
    uint32_t           k = w->l.first[lane + 1];

    *out = (hu_interval){0, 0};
    for (uint32_t i = t->n_stretches; i-- > 0 && !out->end_ns;) {
        const hu_stretch *x = &s[t->first_stretch + i];

        if (x->state == HU_THREAD_WAITING && x->end_ns - x->start_ns >= LEAST_WAIT_NS)
            *out = (hu_interval){x->start_ns, x->end_ns};
    }
    while (k-- > w->l.first[lane]) {
        const uint32_t i = w->l.of_lane[k];
        const hu_node *node = &b->nodes.at[i];

        if (t->n_stretches && out->end_ns && node->start_ns < out->end_ns)
            return i;
        if (t->n_stretches || node->seen_ns < LEAST_WAIT_NS || node->call != HU_CALL_NONE || node->slice == HU_NONE)
            continue;
        *out = (hu_interval){node->start_ns, node->start_ns + node->seen_ns};
        return i;
    }
    return HU_NONE;
}

/* Does a thread mostly pause, again and again, and did a join begin when hardly any of its pauses were left? */
static bool looks_after_pauses(const work *w, uint32_t lane, int64_t join_ns)
{
    const hu_building *b = w->b;
    int64_t            paused_ns = 0, life_ns = 0;
    uint32_t           n = 0, left = 1; /* the pause in which its end is asked for */

    for (uint32_t k = w->first[lane]; k < w->l.first[lane + 1]; k++) {
        const hu_node *x = &b->nodes.at[w->l.of_lane[k]];

        life_ns += x->seen_ns;
        if (x->class != HU_CLASS_SLEEP)
            continue;
        paused_ns += x->seen_ns;
        n++;
        left += x->start_ns >= join_ns;
    }
    return 2 * paused_ns >= life_ns && left * MANY_PAUSES <= n;
}

/*
 * Did a thread or process live until the one that waits for its end told it to end?  Then its life is as long as that one
 * wants it to be, and the call takes what ending takes.
 *
 * Who writes to an event, signals a condition, wakes a futex or closes a pipe and then waits for the end, does so just
 * before the call: the other one's last wait, in which it was since long, ends there, and it ends.  Who sets a flag that
 * the other one looks at after each pause comes in one of its last pauses: by chance that happens as often as these are of
 * all its pauses.
 */
static bool was_told_to_end(const work *w, const hu_node *join, uint32_t lane)
{
    enum { NO_TELLING = HU_CLASS_BIT(SLEEP) | HU_CLASS_BIT(IO) | HU_CLASS_BIT(LOCK) | HU_CLASS_BIT(HOST_COMM) };
    hu_interval    wait;
    const uint32_t node = find_last_wait(w, lane, &wait);

    if (node == HU_NONE || wait.end_ns + LATE_NS < hu_build_node_end(w->b, w->l.of_lane[w->last[lane]]))
        return false;
    if (w->b->nodes.at[node].class == HU_CLASS_SLEEP)
        return looks_after_pauses(w, lane, join->start_ns);
    return !(1u << w->b->nodes.at[node].class & NO_TELLING) && wait.start_ns < join->start_ns - LEAST_WAIT_NS &&
           wait.end_ns > join->start_ns - LATE_NS && wait.end_ns < join->start_ns + LATE_NS;
}

/* A link into the begin of a node. */
static bool begin_after(hu_building *b, uint32_t node, uint32_t from, int64_t weight_ns)
{
    const hu_link link = {.from = from, .weight_ns = (int32_t)weight_ns, .at = HU_AT_NODE_END, .class = HU_CLASS_HANDOFF};

    if (weight_ns > INT32_MAX || b->nodes.at[node].after != HU_NONE)
        return true;
    b->nodes.at[node].after = (uint32_t)b->links.n;
    return hu_vec_push(b->ask->scratch, &b->links, ((hu_pending){link, HU_NONE}));
}

/*
 * The lane begins behind what its parent did before it.  Where that was a wait for somebody, which is no work, it begins
 * behind what was waited for.
 */
static bool start_lane(work *w, uint32_t lane, uint32_t parent)
{
    hu_building   *b = w->b;
    const uint32_t k = w->first[lane], node = w->l.of_lane[k];
    const int64_t  start = b->nodes.at[node].start_ns;
    uint32_t       at = w->l.first[parent], from, now;
    int64_t        late;

    while (at + 1 < w->l.first[parent + 1] && b->nodes.at[w->l.of_lane[at + 1]].start_ns <= start)
        at++;
    if (at == w->l.first[parent])
        return true; /* in the first thing that the parent does */
    now = w->l.of_lane[at];
    from = w->l.of_lane[at - 1];
    late = start - hu_build_node_end(b, from);
    if (b->nodes.at[now].after != HU_NONE && b->links.at[b->nodes.at[now].after].link.at == HU_AT_NODE_END) {
        const hu_link *link = &b->links.at[b->nodes.at[now].after].link;

        from = link->from;
        late = start - b->nodes.at[now].start_ns + link->weight_ns;
    }
    if (late > INT32_MAX || b->nodes.at[node].after != HU_NONE)
        return true;
    if (k > w->l.first[lane])
        b->nodes.at[w->l.of_lane[k - 1]].cost_ns = 0;
    return begin_after(b, node, from, late);
}

/* Joins the waits of one lane. */
static bool join_lane(work *w, uint32_t waiting)
{
    hu_building *b = w->b;

    for (uint32_t k = w->l.first[waiting]; k + 1 < w->l.first[waiting + 1]; k++) {
        hu_node       *n = &b->nodes.at[w->l.of_lane[k]];
        const uint32_t next = w->l.of_lane[k + 1];
        const int      kind = waits_for(w, n);
        const uint32_t lane = kind < 0 ? HU_NONE : who_ends(w, n, kind == 1);
        uint32_t       from;

        if (lane == HU_NONE || b->nodes.at[next].after != HU_NONE)
            continue;
        if (was_told_to_end(w, n, lane)) {
            w->is_joined[lane] = 1;
            continue;
        }
        from = w->l.of_lane[w->last[lane]];
        if (b->nodes.at[next].start_ns - hu_build_node_end(b, from) > INT32_MAX)
            continue;
        n->cost_ns = 0;
        w->is_joined[lane] = 1;
        if (!begin_after(b, next, from, b->nodes.at[next].start_ns - hu_build_node_end(b, from)) ||
            !start_lane(w, lane, waiting))
            return false;
    }
    return true;
}

int hu_build_joins(hu_building *b, hu_error *err)
{
    work w = {.b = b, .is_joined = hu_arena_calloc(b->ask->scratch, b->g->n_lanes + 1, 1)};

    if (b->g->n_lanes < 2)
        return 0;
    if (!w.is_joined || !hu_build_lane_nodes(b, &w.l) || !find_ends(&w))
        return hu_fail_memory(err);
    w.is_joined[b->g->main_lane] = 1;
    if (!join_lane(&w, b->g->main_lane))
        return hu_fail_memory(err);
    /* those of a shell that the main process started, and so on: only lives tell whose child is whose */
    for (uint32_t lane = 0; lane < b->g->n_lanes; lane++)
        if (lane != b->g->main_lane && w.track[lane]->n_stretches && b->g->is_whole && !join_lane(&w, lane))
            return hu_fail_memory(err);
    return 0;
}
