/* SPDX-License-Identifier: Apache-2.0
 * joins.c - a thread waits until another thread or a child process has ended (pthread_join, waitpid).
 *
 * Such a call returns when the other one has ended: where its life was recorded, that is known, whatever it was seen to do;
 * else its last recorded piece of work is over.  So the time in the call is that one's time: the
 * call itself costs nothing, what comes behind it waits for that piece, and the other one begins when the main thread had
 * done what it did before.  Of several the one that ends last is waited for.  A call that no thread's end explains stays
 * what it was: so long a wait.  So does one for a thread that was told to end, however long that lived.  Locks and
 * conditions are not joined: a recording does not tell who released them.
 *
 * Two other ways to wait for a child are known by when it ends, where the recording says whose child it is: a read or poll
 * of its pipe, which then returns; and sleeps between two looks.
 */
#include <stdlib.h>

#include "analyze/host_calls.h"
#include "graph/build.h"
#include "graph/kin.h"

enum {
    LEAST_WAIT_NS = 50000,
    LATE_NS = 500000,    /* from the last piece of work to the return of who waits, */
    MANY_PAUSES = 20,    /* for each that is left, of a thread that looks whether it is to end; else it may be by chance */
    LATE_PART = 4,       /* or this part of the wait: a thread may compute unrecorded at its end */
    NO_CPU_NS = 5000000, /* from such an end to when its reader runs: a thread counts as waiting until it has a CPU */
    LAST_BREATH_NS = 20000000, /* from where a process closes its files to its end, while others have the CPUs */
    MUCH_LATER = 4,            /* times the time from one sleep to the next: then it is another loop's */
};

typedef struct {
    hu_building     *b;
    hu_lane_nodes    l;
    const hu_track **track;        /* by lane */
    uint32_t        *first, *last; /* by lane: its first and last piece of work, as places in l.of_lane; HU_NONE */
    uint8_t         *is_joined;    /* by lane: somebody waits for its end */
    int64_t         *end_ns;       /* by lane: of its last piece of work */
    uint32_t        *by_end;       /* lanes that do anything, in the order of their ends */
    size_t           n_ended;
    hu_kin           kin;
} work;

/* What a call waits for. */
typedef enum { FOR_NOBODY, FOR_THREAD, FOR_CHILD, FOR_PIPE } target;

static bool is_busy(const hu_track *t, const hu_node *n)
{
    if (t->n_stretches)
        return n->start_ns >= t->born_ns && n->seen_ns > 0;
    return n->call != HU_CALL_NONE || n->slice != HU_NONE;
}

typedef struct {
    int64_t  end_ns;
    uint32_t lane;
} lane_end;

/* Of equal ones the lane that comes first is the last: searches go from the end. */
static int earlier_end(const void *left, const void *right)
{
    const lane_end *a = left, *b = right;

    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return (a->lane < b->lane) - (a->lane > b->lane);
}

static bool order_ends(work *w)
{
    const uint32_t n = w->b->g->n_lanes;
    lane_end      *ends = hu_arena_alloc(w->b->ask->scratch, (n + 1) * sizeof *ends);

    w->by_end = hu_arena_alloc(w->b->ask->scratch, (n + 1) * sizeof *w->by_end);
    w->end_ns = hu_arena_calloc(w->b->ask->scratch, n + 1, sizeof *w->end_ns);
    if (!ends || !w->by_end || !w->end_ns)
        return false;
    for (uint32_t lane = 0; lane < n; lane++) {
        if (w->last[lane] == HU_NONE)
            continue;
        w->end_ns[lane] = hu_build_node_end(w->b, w->l.of_lane[w->last[lane]]);
        ends[w->n_ended++] = (lane_end){w->end_ns[lane], lane};
    }
    if (w->n_ended)
        qsort(ends, w->n_ended, sizeof *ends, earlier_end);
    for (size_t i = 0; i < w->n_ended; i++)
        w->by_end[i] = ends[i].lane;
    return true;
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
    return order_ends(w);
}

static target waits_for(const work *w, const hu_node *n)
{
    const hu_ask *ask = w->b->ask;

    if (n->class != HU_CLASS_WAIT || n->slice == HU_NONE || ask->s.kind[n->slice] != HU_KIND_OS_CALL ||
        n->seen_ns < LEAST_WAIT_NS)
        return FOR_NOBODY;
    switch (hu_host_calls_class(ask, n->slice)) {
    case HU_HOST_CHILD:
        return FOR_CHILD;
    case HU_HOST_PIPE:
    case HU_HOST_POLL:
        return FOR_PIPE;
    default:
        return hu_str_starts(hu_ask_name(ask, n->slice), HU_STR("pthread_join")) ? FOR_THREAD : FOR_NOBODY;
    }
}

/* Nobody waits for who was there before, nor for whom another process started. */
static bool may_be_child(const work *w, const hu_track *parent, const hu_track *child)
{
    const int64_t known = hu_kin_parent(&w->kin, child->pid);

    return (!parent->n_stretches || !child->n_stretches || child->born_ns >= parent->born_ns) &&
           (!known || known == parent->pid);
}

static bool may_end(const work *w, const hu_track *who, const hu_track *other, target what)
{
    switch (what) {
    case FOR_THREAD:
        return who->pid == other->pid;
    case FOR_CHILD:
        return who->pid != other->pid && may_be_child(w, who, other);
    case FOR_PIPE:
        return hu_kin_descends(&w->kin, other->pid, who->pid);
    default:
        return false;
    }
}

/* When a thread was woken last before a node ends; it may get its CPU later. */
static int64_t woken_in(const work *w, const hu_node *node)
{
    const hu_track   *t = w->track[node->lane];
    const int64_t     until = node->start_ns + node->seen_ns;
    size_t            n;
    const hu_stretch *s = hu_trace_stretches(w->b->ask->trace, &n) + t->first_stretch;
    uint32_t          low = 0, high = t->n_stretches;

    while (low < high) { /* the first that ends behind the node */
        const uint32_t mid = low + (high - low) / 2;

        if (s[mid].end_ns <= until)
            low = mid + 1;
        else
            high = mid;
    }
    while (low-- > 0 && s[low].end_ns > node->start_ns)
        if (s[low].state == HU_THREAD_WAITING)
            return s[low].end_ns;
    return until;
}

/* How many lanes end no later than this. */
static size_t ended_until(const work *w, int64_t until_ns)
{
    size_t low = 0, high = w->n_ended;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (w->end_ns[w->by_end[mid]] <= until_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* How long a thread runs behind a time, in what is left of its life. */
static int64_t runs_after(const work *w, uint32_t lane, int64_t time_ns)
{
    const hu_track   *t = w->track[lane];
    size_t            n;
    const hu_stretch *s = hu_trace_stretches(w->b->ask->trace, &n) + t->first_stretch;
    int64_t           sum = 0;

    for (uint32_t k = t->n_stretches; k-- > 0 && s[k].end_ns > time_ns;)
        if (s[k].state == HU_THREAD_RUNNING)
            sum += s[k].end_ns - (s[k].start_ns > time_ns ? s[k].start_ns : time_ns);
    return sum;
}

/*
 * The lane whose end is the end of a file for who reads or polls it.  A process closes its files a moment before it has
 * ended, and who is woken by that may take its CPU.  What it begins behind that is not what is waited for.
 */
static uint32_t who_closes(const work *w, const hu_node *n, uint32_t next)
{
    const int64_t woken = woken_in(w, n);
    uint32_t      best = HU_NONE;
    int64_t       best_ns = 0;

    for (size_t i = ended_until(w, woken + LAST_BREATH_NS); i-- > 0;) {
        const uint32_t lane = w->by_end[i];
        const int64_t  off_ns = w->end_ns[lane] > woken ? w->end_ns[lane] - woken : woken - w->end_ns[lane];

        if (w->end_ns[lane] < woken - NO_CPU_NS || w->end_ns[lane] <= n->start_ns)
            break;
        if (w->is_joined[lane] || w->l.of_lane[w->last[lane]] >= next ||
            !may_end(w, w->track[n->lane], w->track[lane], FOR_PIPE) || (best != HU_NONE && off_ns >= best_ns) ||
            runs_after(w, lane, woken) > LATE_NS)
            continue;
        best = lane;
        best_ns = off_ns;
    }
    return best;
}

/* The lane whose end ends a wait, and that nobody else waits for; HU_NONE. */
static uint32_t who_ends(const work *w, const hu_node *n, uint32_t next, target what)
{
    const int64_t until = n->start_ns + n->seen_ns;
    const int64_t late = n->seen_ns / LATE_PART > LATE_NS ? n->seen_ns / LATE_PART : LATE_NS;

    if (what == FOR_PIPE)
        return who_closes(w, n, next);
    for (size_t i = ended_until(w, until); i-- > 0;) {
        const uint32_t lane = w->by_end[i];

        if (w->end_ns[lane] <= n->start_ns || until - w->end_ns[lane] > late)
            return HU_NONE;
        if (lane != n->lane && !w->is_joined[lane] && may_end(w, w->track[n->lane], w->track[lane], what))
            return lane;
    }
    return HU_NONE;
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
        if (t->n_stretches || node->merged != HU_NONE || node->seen_ns < LEAST_WAIT_NS || node->call != HU_CALL_NONE ||
            node->slice == HU_NONE)
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
        n += hu_build_pieces(b, x);
        left += x->start_ns >= join_ns ? hu_build_pieces(b, x) : 0;
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
        const target   what = waits_for(w, n);
        const uint32_t lane = what == FOR_NOBODY ? HU_NONE : who_ends(w, n, next, what);
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

/* The next sleep of a lane behind the one at `k`; HU_NONE. */
static uint32_t next_sleep(const work *w, uint32_t lane, uint32_t k)
{
    while (++k < w->l.first[lane + 1])
        if (w->b->nodes.at[w->l.of_lane[k]].class == HU_CLASS_SLEEP)
            return w->l.of_lane[k];
    return HU_NONE;
}

/* Is the sleep that ends then the last of those in which a thread looked whether somebody has ended?  Else it goes on as
   before: with the next one in a time like those between the sleeps so far, and without another child. */
static bool is_last_look(const work *w, int64_t pid, int64_t end_ns, uint32_t next, int64_t shortest_ns)
{
    const int64_t again_ns = next == HU_NONE ? INT64_MAX : w->b->nodes.at[next].start_ns;

    if (next == HU_NONE || (shortest_ns != INT64_MAX && again_ns - end_ns > MUCH_LATER * shortest_ns + LATE_NS))
        return true;
    for (uint32_t lane = 0; lane < w->b->g->n_lanes; lane++) {
        const hu_track *t = w->track[lane];

        if (t->n_stretches && t->born_ns >= end_ns && t->born_ns <= again_ns && hu_kin_parent(&w->kin, t->pid) == pid)
            return true;
    }
    return false;
}

/* A child of this thread's process that ends in a node, and that nobody waits for; HU_NONE.  The last one of several. */
static uint32_t who_ends_in(const work *w, const hu_node *n)
{
    for (size_t i = ended_until(w, n->start_ns + n->seen_ns); i-- > 0 && w->end_ns[w->by_end[i]] > n->start_ns;) {
        const uint32_t lane = w->by_end[i];

        if (!w->is_joined[lane] && hu_kin_parent(&w->kin, w->track[lane]->pid) == w->track[n->lane]->pid)
            return lane;
    }
    return HU_NONE;
}

/* The children of this thread's process that end in a node, and that nobody waits for: the last of them, HU_NONE where there
   are none; and when the first of them was started. */
static uint32_t take_ended(work *w, const hu_node *n, int64_t *born_ns)
{
    uint32_t lane, last = HU_NONE;

    *born_ns = INT64_MAX;
    while ((lane = who_ends_in(w, n)) != HU_NONE) {
        last = last == HU_NONE ? lane : last;
        w->is_joined[lane] = 1;
        *born_ns = w->track[lane]->born_ns < *born_ns ? w->track[lane]->born_ns : *born_ns;
    }
    return last;
}

/*
 * Sleeps between two polls of a child (waitpid with WNOHANG, poll of a Popen): the poll itself is over at once, but the
 * sleep in which the child ends was cut there (looks.c), and its remainder begins then.  The sleeps before it are a wait
 * for the child, and cost nothing by themselves.  A program that sleeps on as before did not poll.
 */
static bool look_lane(work *w, uint32_t waiting)
{
    hu_building  *b = w->b;
    const int64_t pid = w->track[waiting]->pid;
    int64_t       shortest_ns = INT64_MAX;

    for (uint32_t k = w->l.first[waiting]; k + 1 < w->l.first[waiting + 1]; k++) {
        hu_node       *n = &b->nodes.at[w->l.of_lane[k]];
        const uint32_t rest = w->l.of_lane[k + 1];
        const int64_t  end_ns = n->start_ns + n->seen_ns;
        const bool     is_cut = b->nodes.at[rest].class == HU_CLASS_SLEEP && b->nodes.at[rest].start_ns == end_ns;
        const uint32_t next = n->class == HU_CLASS_SLEEP ? next_sleep(w, waiting, k + is_cut) : HU_NONE;
        const int64_t  awake_ns = is_cut ? hu_build_node_end(b, rest) : end_ns;
        int64_t        born_ns;
        uint32_t       last = HU_NONE;

        if (n->class != HU_CLASS_SLEEP)
            continue;
        if (is_cut && b->nodes.at[rest].after == HU_NONE && who_ends_in(w, n) != HU_NONE &&
            is_last_look(w, pid, awake_ns, next, shortest_ns))
            last = take_ended(w, n, &born_ns);
        if (last != HU_NONE) {
            for (uint32_t back = k + 1; back-- > w->l.first[waiting] && b->nodes.at[w->l.of_lane[back]].start_ns >= born_ns;)
                if (b->nodes.at[w->l.of_lane[back]].class == HU_CLASS_SLEEP)
                    b->nodes.at[w->l.of_lane[back]].cost_ns = 0;
            if (!begin_after(b, rest, w->l.of_lane[w->last[last]], 0) || !start_lane(w, last, waiting))
                return false;
        }
        if (next != HU_NONE && b->nodes.at[next].start_ns - awake_ns < shortest_ns)
            shortest_ns = b->nodes.at[next].start_ns - awake_ns;
        k += is_cut;
    }
    return true;
}

static bool wait_lane(work *w, uint32_t lane)
{
    return join_lane(w, lane) && look_lane(w, lane);
}

/* Threads that nobody joins begin where another one started them, too. */
static bool start_others(work *w)
{
    for (uint32_t lane = 0; lane < w->b->g->n_lanes; lane++) {
        const uint32_t creator = w->is_joined[lane] || w->first[lane] == HU_NONE ? HU_NONE
                                                                                 : hu_build_creator(w->b, w->track, lane);

        if (creator != HU_NONE && w->first[creator] != HU_NONE && !start_lane(w, lane, creator))
            return false;
    }
    return true;
}

int hu_build_joins(hu_building *b, hu_error *err)
{
    work w = {.b = b, .is_joined = hu_arena_calloc(b->ask->scratch, b->g->n_lanes + 1, 1)};

    if (b->g->n_lanes < 2)
        return 0;
    if (!w.is_joined || !hu_build_lane_nodes(b, &w.l) || !find_ends(&w) ||
        !hu_kin_find(b->ask->trace, b->ask->scratch, &w.kin))
        return hu_fail_memory(err);
    w.is_joined[b->g->main_lane] = 1;
    if (!wait_lane(&w, b->g->main_lane))
        return hu_fail_memory(err);
    /* those of a shell that the main process started, and so on: only lives tell whose child is whose */
    for (uint32_t lane = 0; lane < b->g->n_lanes; lane++)
        if (lane != b->g->main_lane && w.track[lane]->n_stretches && b->g->is_whole && !wait_lane(&w, lane))
            return hu_fail_memory(err);
    if (b->g->is_whole && !b->g->n_ops && !start_others(&w))
        return hu_fail_memory(err);
    return 0;
}
