/* SPDX-License-Identifier: Apache-2.0
 * stages.c - what tells a stage of a pipeline from a member of a ring, and how much of its time is a bubble.
 *
 * A stage gets activations from one neighbour and gives gradients back to it: sends and receives go both ways.  In a
 * ring (ring attention) keys and values go round in one direction, in forward and in backward.  A ring of two looks both
 * ways, but sends and receives within each forward pass, several times.
 *
 * A step of m micro-batches on p stages has an ideal bubble of (p - 1) / (m + p - 1) of its time (Narayanan et al., 2021);
 * with v chunks on each rank m v takes the place of m, and m v is what is counted here.
 */
#include "analyze/stages.h"

#include <math.h>

#include "base/map.h"

enum { MOST_PEERS = 8 };

typedef struct {
    int64_t peer;
    int64_t sends, receives; /* of tensors */
    int64_t forward_sends, forward_receives;
} neighbour;

typedef struct {
    neighbour at[MOST_PEERS];
    size_t    n;
    bool      is_crowd; /* more than these */
    int64_t   unknown;  /* calls whose direction or peer is not recorded */
} neighbours;

static neighbour *neighbour_of(neighbours *all, int64_t peer)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].peer == peer)
            return &all->at[i];
    if (all->n == MOST_PEERS) {
        all->is_crowd = true;
        return NULL;
    }
    all->at[all->n] = (neighbour){.peer = peer};
    return &all->at[all->n++];
}

static bool is_tensor(const hu_traffic_call *c)
{
    return !c->is_orphan && !c->is_integer && (c->bytes < 0 || c->bytes > HU_PATTERN_SCALAR_BYTES);
}

static void meet(const hu_traffic_call *calls, size_t n, neighbours *all)
{
    *all = (neighbours){0};
    for (size_t i = 0; i < n; i++) {
        neighbour *to;

        if (!is_tensor(&calls[i]))
            continue;
        if (calls[i].kind == HU_TRAFFIC_EXCHANGE) {
            all->unknown++;
            continue;
        }
        if ((calls[i].kind != HU_TRAFFIC_SEND && calls[i].kind != HU_TRAFFIC_RECV) ||
            !(to = neighbour_of(all, calls[i].peer)))
            continue;
        if (calls[i].kind == HU_TRAFFIC_SEND) {
            to->sends++;
            to->forward_sends += calls[i].slot == HU_SLOT_FORWARD;
        } else {
            to->receives++;
            to->forward_receives += calls[i].slot == HU_SLOT_FORWARD;
        }
    }
}

static int64_t most(const neighbours *all)
{
    int64_t n = 0;

    for (size_t i = 0; i < all->n; i++) {
        n = all->at[i].sends > n ? all->at[i].sends : n;
        n = all->at[i].receives > n ? all->at[i].receives : n;
    }
    return n;
}

static bool within_twice(int64_t a, int64_t b)
{
    return a > 0 && b > 0 && a <= 2 * b && b <= 2 * a;
}

/* A ring: to one, from another; or to and from the same one, several times within a pass. */
static bool is_ring(const neighbours *all, const hu_parallel_traits *t)
{
    const neighbour *a = &all->at[0], *b = &all->at[1];

    if (all->n == 2)
        return (a->sends == 0) != (a->receives == 0) && (b->sends == 0) != (b->receives == 0) &&
               (a->sends == 0) != (b->sends == 0);
    if (all->n != 1)
        return false;
    return within_twice(a->forward_sends, a->forward_receives) &&
           within_twice(a->sends - a->forward_sends, a->receives - a->forward_receives) &&
           (double)a->forward_sends >= 2 * t->passes;
}

static bool goes_both_ways(const neighbours *all)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].sends == 0 || all->at[i].receives == 0)
            return false;
    return all->n > 0 && all->n <= 2;
}

static const char *stage_of(const neighbours *all, int64_t rank)
{
    if (all->n == 2)
        return "middle";
    if (rank < 0 || all->at[0].peer < 0)
        return "";
    return all->at[0].peer > rank ? "first" : "last";
}

static void judge_pipeline(const neighbours *all, const hu_traffic_group *g, int64_t rank, const hu_parallel_traits *t,
                           hu_stages *out)
{
    hu_judgement *j = &out->judgement;
    const double  each = (double)most(all) / t->steps;
    const bool    knows = all->at[0].peer >= 0;

    j->kind = HU_PARALLEL_PP;
    j->trust = knows ? HU_TRUST_HIGH : HU_TRUST_MEDIUM;
    hu_judgement_say(j, "activations and gradients go to and from %s", all->n == 2 ? "two neighbours" : "one neighbour");
    out->microbatches = (int64_t)(each + 0.5);
    if (each - (double)out->microbatches > 0.1 || (double)out->microbatches - each > 0.1) {
        out->microbatches = -1;
        hu_judgement_say(j, "the number of micro-batches varies between steps");
    }
    out->stage = stage_of(all, rank);
    out->stages = g->size;
    if (all->n == 2 && g->size == 2) { /* the size is that of a pair */
        out->stages = -1;
        hu_judgement_say(j, "a pair with two neighbours: stages are not recorded");
    }
}

void hu_stages_judge(const hu_traffic_call *calls, size_t n, const hu_traffic_group *group, int64_t rank,
                     const hu_parallel_traits *traits, hu_stages *out)
{
    neighbours all;

    *out = (hu_stages){.stages = -1, .microbatches = -1, .stage = "", .judgement.kind = HU_PARALLEL_UNKNOWN};
    meet(calls, n, &all);
    if (!traits->is_training) {
        hu_judgement_say(&out->judgement, "sends and receives without a backward pass");
    } else if (all.n == 0 || all.is_crowd) {
        hu_judgement_say(&out->judgement,
                         all.n ? "sends to and receives from many ranks" : "peers not recorded: a pipeline or a ring");
    } else if (is_ring(&all, traits)) {
        out->judgement.kind = HU_PARALLEL_CP;
        out->judgement.trust = all.n == 2 ? HU_TRUST_HIGH : HU_TRUST_MEDIUM;
        out->judgement.words = "CP by a ring";
        hu_judgement_say(&out->judgement, "blocks travel around a ring in forward and in backward");
    } else if (goes_both_ways(&all)) {
        judge_pipeline(&all, group, rank, traits, out);
    } else {
        hu_judgement_say(&out->judgement, "sends and receives that are neither a pipeline nor a ring");
    }
    if (out->judgement.kind != HU_PARALLEL_UNKNOWN && hu_parallel_name_speaks(group, out->judgement.kind) < 0) {
        out->judgement.trust = HU_TRUST_LOW;
        hu_judgement_say(&out->judgement, "but the group's name suggests something else");
    }
}

static void widen(hu_interval *w, int64_t start, int64_t end)
{
    w->start_ns = start < w->start_ns ? start : w->start_ns;
    w->end_ns = end > w->end_ns ? end : w->end_ns;
}

/* From the first to the last work of forward and backward, and of neighbours, in each step. */
static void find_windows(const hu_ask *ask, const hu_phase_spans *spans, const hu_traffic *traffic, hu_interval *windows,
                         size_t n)
{
    for (size_t i = 0; i < n; i++)
        windows[i] = (hu_interval){INT64_MAX, INT64_MIN};
    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k];
        int64_t        time_ns;
        size_t         step;
        hu_phase       phase;

        if (ask->s.kind[i] != HU_KIND_KERNEL)
            continue;
        time_ns = hu_select_time(ask->trace, &ask->s, i);
        step = hu_select_find(&traffic->steps, time_ns);
        phase = hu_phase_of_work(ask, spans, i);
        if (step < n && (phase == HU_PHASE_FORWARD || phase == HU_PHASE_BACKWARD))
            widen(&windows[step], ask->s.start_ns[i], hu_ask_end(ask, i));
    }
    for (size_t i = 0; i < traffic->n; i++)
        if (hu_traffic_is_exchange(traffic->at[i].kind) && traffic->at[i].step < n)
            widen(&windows[traffic->at[i].step], traffic->at[i].start_ns, traffic->at[i].start_ns + traffic->at[i].dur_ns);
    for (size_t i = 0, end = 0; i < n; i++) { /* sorted and apart, as the measure below needs them */
        if (windows[i].start_ns > windows[i].end_ns)
            windows[i] = (hu_interval){end ? windows[end - 1].end_ns : 0, end ? windows[end - 1].end_ns : 0};
        if (i && windows[i].start_ns < windows[i - 1].end_ns)
            windows[i].start_ns = windows[i - 1].end_ns;
        if (windows[i].end_ns < windows[i].start_ns)
            windows[i].end_ns = windows[i].start_ns;
        end = i + 1;
    }
}

int hu_stages_bubble(const hu_ask *ask, const hu_phase_spans *spans, const hu_traffic *traffic, double *share, hu_error *err)
{
    const size_t n = traffic->steps.n;
    hu_interval *windows = hu_arena_calloc(ask->scratch, n + 1, sizeof *windows);
    int64_t     *used = hu_arena_calloc(ask->scratch, n + 1, sizeof *used);
    hu_intervals others = {0}, busy = {0};
    double       whole = 0, worked = 0;

    *share = (double)NAN;
    if (!windows || !used)
        return hu_fail_memory(err);
    if (n == 0 || traffic->on_host)
        return 0;
    find_windows(ask, spans, traffic, windows, n);
    for (size_t i = 0; i < traffic->n; i++) {
        const hu_traffic_call *c = &traffic->at[i];

        if (!hu_traffic_is_exchange(c->kind) &&
            !hu_intervals_add(ask->scratch, &others, c->start_ns, c->start_ns + c->dur_ns))
            return hu_fail_memory(err);
    }
    if (!hu_intervals_unite(ask->scratch, &others) || !hu_intervals_join(ask->scratch, &ask->compute, &others, &busy))
        return hu_fail_memory(err);
    hu_intervals_split(&busy, windows, n, used);
    for (size_t i = 0; i < n; i++) {
        whole += (double)(windows[i].end_ns - windows[i].start_ns);
        worked += (double)used[i];
    }
    if (whole > 0)
        *share = 1 - worked / whole;
    return 0;
}
