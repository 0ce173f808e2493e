/* SPDX-License-Identifier: Apache-2.0
 * messages.c - the k-th message from rank a to rank b in a process group is the k-th that b receives from a there.
 *
 * That order is what libraries promise.  PyTorch's profiler writes the other rank of a send or receive ("Dst Rank",
 * "Src Rank": ranks of the job, torch/csrc/profiler/util.cpp).  Both ends are kernels that stay until the data has moved,
 * so they end nearly together, and no clock is needed for the waiting:
 *
 *     late sender   = max(0, dur of receive - dur of send)       the receiver came first and waited
 *     late receiver = max(0, dur of send - dur of receive)       the sender did
 *     transfer      = min of both
 *
 * (words of Scalasca).  Clocks are only checked: no message may be there before its sender began to send.
 *
 * Captures begin in the middle of a job, on each rank at another time, so the first send in one file may not be the one that
 * the first receive in the other took.  Both ends of a message end together, and one clock leads another by the same all
 * along: the right pairing is the one in which the ends are the most regular.
 */
#include "across/messages.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"

enum { FEWEST_PAIRS = 6, MOST_SKIPPED = 64 }; /* of one path, for their regularity to say something; lost at the beginning */

static const double CLEARLY = 4, SLACK_NS = 2000; /* times more regular, and by how much at least */

/* One end of a message. */
typedef struct {
    int64_t  source, target;
    uint64_t group;
    uint32_t digest, call;
    bool     is_receive;
} end_of_message;

typedef struct {
    hu_digest *const    *digests;
    size_t               n;
    const hu_clocks     *clocks;
    hu_messages         *out;
    hu_transfer_samples *samples;
    hu_arena            *arena, *scratch;
    HU_VEC(end_of_message) ends;
    HU_VEC(hu_message_path) paths;
    HU_VEC(hu_message_pair) pairs;
} work;

static int64_t rank_of(const work *w, size_t digest)
{
    const int64_t rank = w->digests[digest]->info.rank;

    return rank >= 0 ? rank : (int64_t)digest;
}

static const hu_comm_call *call_of(const work *w, const end_of_message *e)
{
    return &w->digests[e->digest]->comm.calls_at[e->call];
}

static bool call_is_on_host(const work *w, const end_of_message *e)
{
    return w->digests[e->digest]->comm.at[call_of(w, e)->row].on_host;
}

static int by_value(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static int by_path(const void *left, const void *right)
{
    const end_of_message *a = left, *b = right;

    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->is_receive != b->is_receive)
        return a->is_receive ? 1 : -1;
    if (a->digest != b->digest)
        return a->digest < b->digest ? -1 : 1;
    return (a->call > b->call) - (a->call < b->call);
}

static int by_waiting(const void *left, const void *right)
{
    const hu_message_path *a = left, *b = right;
    const int64_t          x = a->late_sender_ns + a->late_receiver_ns, y = b->late_sender_ns + b->late_receiver_ns;

    if (x != y)
        return x > y ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return (a->target > b->target) - (a->target < b->target);
}

static bool list_ends(work *w)
{
    for (size_t r = 0; r < w->n; r++) {
        const hu_comm *comm = &w->digests[r]->comm;

        for (size_t i = 0; i < comm->n_calls_at; i++) {
            const hu_comm_call *c = &comm->calls_at[i];
            const bool          receives = c->kind == HU_COMM_RECEIVE;

            if ((c->kind != HU_COMM_SEND && !receives) || c->peer < 0)
                continue;
            if (!hu_vec_push(w->scratch, &w->ends,
                             ((end_of_message){receives ? c->peer : rank_of(w, r), receives ? rank_of(w, r) : c->peer,
                                               c->group, (uint32_t)r, (uint32_t)i, receives})))
                return false;
        }
    }
    if (w->ends.n)
        qsort(w->ends.at, w->ends.n, sizeof *w->ends.at, by_path);
    return true;
}

static void check_clocks(work *w, const end_of_message *s, const end_of_message *r)
{
    const hu_comm_call *send = call_of(w, s), *receive = call_of(w, r);

    if (isnan(w->clocks->at[s->digest].offset_ns) || isnan(w->clocks->at[r->digest].offset_ns) || receive->is_posted)
        return; /* MPI_Irecv ends before anything is there */
    w->out->checked++;
    w->out->violations += hu_clocks_time(w->clocks, s->digest, send->start_ns) -
                              hu_clocks_time(w->clocks, r->digest, hu_comm_call_end(receive)) >
                          HU_CLOCKS_SLACK_NS;
}

/* Above 0 the sender was late.  A call that returned at once waited for nobody: it says only that its rank was there. */
static int64_t lateness(const hu_comm_call *send, const hu_comm_call *receive)
{
    const int64_t late = receive->dur_ns - send->dur_ns;

    return receive->is_posted || (send->is_posted && late < 0) ? 0 : late;
}

static bool pair(work *w, const end_of_message *s, const end_of_message *r, hu_message_path *path)
{
    const hu_comm_call  *send = call_of(w, s), *receive = call_of(w, r);
    const hu_collective *what = &w->digests[s->digest]->comm.at[send->row];
    const int64_t        late = lateness(send, receive), least = late > 0 ? send->dur_ns : receive->dur_ns;
    const hu_comm_link   link = hu_transfers_link(w->digests[s->digest], w->digests[r->digest]);

    w->out->matched++;
    path->messages++;
    path->transfer_ns += least;
    if (what->kind == HU_COMM_SEND && hu_str_starts(what->name, HU_STR("MPI_"))) {
        path->bytes += what->bytes > 0 ? what->bytes : 0; /* a buffered send returns before the data has moved */
    } else if (what->kind == HU_COMM_SEND) {              /* not a batch of several in one kernel */
        const hu_collective *other = &w->digests[r->digest]->comm.at[receive->row];

        path->bytes += what->bytes > 0 ? what->bytes : 0;
        w->out->sizes_differ += other->kind == HU_COMM_RECEIVE && what->bytes != other->bytes;
        if (!hu_vec_push(w->scratch, &w->samples->at, ((hu_transfer_sample){what, link, 2, least})))
            return false;
    }
    if (late > 0) {
        path->late_sender_ns += late;
        w->out->waits[r->digest].late_sender_ns += late;
        w->out->late_sender_ns += late;
    } else {
        path->late_receiver_ns -= late;
        w->out->waits[s->digest].late_receiver_ns -= late;
        w->out->late_receiver_ns -= late;
    }
    check_clocks(w, s, r);
    if (what->on_host || w->digests[r->digest]->comm.at[receive->row].on_host)
        return true;
    return hu_vec_push(w->arena, &w->pairs, ((hu_message_pair){{s->digest, r->digest}, {s->call, r->call}}));
}

/* One way to pair the ends of a path. */
typedef struct {
    int    skip;        /* receives left out at the beginning; below 0: sends */
    double uneven_ns;   /* the mean distance of the differences between ends from their median */
    double distance_ns; /* that median, on the clock of the job */
} pairing;

static pairing try_pairing(const work *w, const end_of_message *e, size_t sends, size_t n, int skip, int64_t *room)
{
    const end_of_message *send = e + (skip < 0 ? -skip : 0), *receive = e + sends + (skip > 0 ? skip : 0);
    const size_t left = (size_t)(e + sends - send), right = (size_t)(e + n - receive), k = left < right ? left : right;
    pairing      p = {.skip = skip};
    int64_t      median;

    for (size_t i = 0; i < k; i++)
        room[i] = hu_clocks_time(w->clocks, receive[i].digest, hu_comm_call_end(call_of(w, &receive[i]))) -
                  hu_clocks_time(w->clocks, send[i].digest, hu_comm_call_end(call_of(w, &send[i])));
    qsort(room, k, sizeof *room, by_value);
    median = room[k / 2];
    for (size_t i = 0; i < k; i++)
        p.uneven_ns += fabs((double)(room[i] - median)) / (double)k;
    p.distance_ns = fabs((double)median);
    return p;
}

/* Steps that are all alike are as regular when a whole one is skipped: of such, those that end nearest together. */
static bool is_better(const pairing *a, const pairing *b)
{
    if (a->uneven_ns * CLEARLY + SLACK_NS < b->uneven_ns || b->uneven_ns * CLEARLY + SLACK_NS < a->uneven_ns)
        return a->uneven_ns < b->uneven_ns;
    return a->distance_ns < b->distance_ns;
}

/*
 * How many receives (below 0: sends) at the beginning belong to messages whose other end is not in its file.  Of ends on the
 * host nothing can be said: a buffered send is over at once.  0 unless another pairing fits far better.  False: no memory.
 */
static bool find_skipped(const work *w, const end_of_message *e, size_t sends, size_t n, int *skip)
{
    const int64_t receives = (int64_t)(n - sends), most = (int64_t)sends < receives ? (int64_t)sends : receives;
    int64_t      *room = hu_arena_alloc(w->scratch, ((size_t)most + 1) * sizeof *room);
    pairing       none, best;

    *skip = 0;
    if (!room)
        return false;
    if (most < FEWEST_PAIRS || call_is_on_host(w, e) || call_is_on_host(w, &e[sends]))
        return true;
    none = best = try_pairing(w, e, sends, n, 0, room);
    for (int k = -MOST_SKIPPED; k <= MOST_SKIPPED && none.uneven_ns > SLACK_NS; k++) {
        const int64_t left = k < 0 ? (int64_t)sends + k : (int64_t)sends, right = k > 0 ? receives - k : receives;
        pairing       p;

        if (k == 0 || left < FEWEST_PAIRS || right < FEWEST_PAIRS || left < most / 2 || right < most / 2)
            continue;
        p = try_pairing(w, e, sends, n, k, room);
        if (is_better(&p, &best))
            best = p;
    }
    if (best.uneven_ns * CLEARLY + SLACK_NS < none.uneven_ns)
        *skip = best.skip;
    return true;
}

/* Ends of one path and group: sends, then receives, each in the order of time. */
static bool pair_all(work *w, const end_of_message *e, size_t n, const hu_map *ranks)
{
    const int64_t         source = e->source, target = e->target;
    hu_message_path      *path = w->paths.n ? &w->paths.at[w->paths.n - 1] : NULL;
    const end_of_message *receives;
    size_t                sends = 0, both, lead;
    int                   skip = 0;

    while (sends < n && !e[sends].is_receive)
        sends++;
    both = sends < n - sends ? sends : n - sends;
    if (both && !find_skipped(w, e, sends, n, &skip))
        return false;
    lead = skip < 0 ? (size_t)-skip : 0;
    receives = &e[sends + (skip > 0 ? (size_t)skip : 0)];
    if (both)
        both = sends - lead < (size_t)(e + n - receives) ? sends - lead : (size_t)(e + n - receives);
    if (!both) {
        const bool there = hu_map_get(ranks, (uint64_t)(sends ? target : source)) != HU_MAP_NONE;

        *(there ? &w->out->unmatched : &w->out->peer_missing) += (int64_t)n;
        return true;
    }
    w->out->unmatched += (int64_t)(n - 2 * both);
    if (!path || path->source != source || path->target != target) {
        if (!hu_vec_push(w->arena, &w->paths, ((hu_message_path){.source = source, .target = target})))
            return false;
        path = &w->paths.at[w->paths.n - 1];
    }
    for (size_t i = 0; i < both; i++)
        if (!pair(w, &e[lead + i], &receives[i], path))
            return false;
    return true;
}

static bool is_one_path(const end_of_message *a, const end_of_message *b)
{
    return a->source == b->source && a->target == b->target && a->group == b->group;
}

bool hu_messages_measure(hu_digest *const *digests, size_t n, const hu_clocks *clocks, hu_arena *arena, hu_arena *scratch,
                         hu_transfer_samples *samples, hu_messages *out)
{
    work w = {
        .digests = digests, .n = n, .clocks = clocks, .out = out, .samples = samples, .arena = arena, .scratch = scratch};
    hu_map ranks;

    *out = (hu_messages){.waits = hu_arena_calloc(arena, n + 1, sizeof *out->waits)};
    if (!out->waits || !hu_map_init(&ranks, scratch, n) || !list_ends(&w))
        return false;
    for (size_t r = 0; r < n; r++) {
        uint32_t *place = hu_map_put(&ranks, (uint64_t)rank_of(&w, r));

        if (!place)
            return false;
        *place = (uint32_t)r;
    }
    for (size_t first = 0, end; first < w.ends.n; first = end) {
        for (end = first + 1; end < w.ends.n && is_one_path(&w.ends.at[first], &w.ends.at[end]);)
            end++;
        if (!pair_all(&w, &w.ends.at[first], end - first, &ranks))
            return false;
    }
    if (w.paths.n)
        qsort(w.paths.at, w.paths.n, sizeof *w.paths.at, by_waiting);
    out->paths = w.paths.at;
    out->n_paths = w.paths.n;
    out->pairs = w.pairs.at;
    out->n_pairs = w.pairs.n;
    return true;
}
