/* SPDX-License-Identifier: Apache-2.0
 * gates_comm.c - what nominates the diagnoses of communication, seen from one rank.
 */
#include "advise/gates.h"

#include <math.h>

static const double LEAST_COMM = 0.01, LEAST_OVERLAP = 0.5;
static const double LEAST_OF_WAITING = 0.1, LEAST_BESIDE_WAITING = 0.05; /* of the host's communication, of a step */

enum { MANY_MESSAGES = 4, MANY_PIECES = 16, SMALL_PIECE_BYTES = 1 << 20 };

/* Time of collectives in the window that send little; and how many those are per step. */
static hu_ns_per_step small_comm_time(const hu_scene *c, double *calls)
{
    const hu_graph *g = &c->s->graph;
    hu_ns_per_step  small = {0};

    *calls = 0;
    for (size_t i = 0; i < g->n_ops; i++) {
        if (g->op[i].class != HU_CLASS_COMM || g->op[i].step < 0 || !hu_edit_is_small_message(g, (uint32_t)i))
            continue;
        small.ns += (double)g->op[i].cost_ns / (double)c->n_steps;
        *calls += 1 / (double)c->n_steps;
    }
    return small;
}

static double overlap_of(const hu_scene *c)
{
    const hu_gpu_time *g = &c->d->gpu_time;

    return g->comm_ns ? (double)g->overlapped_comm_ns / (double)g->comm_ns : 1;
}

/* Gradients piece by piece: a fix that made the pieces smaller would make it worse. */
static bool is_in_pieces(const hu_scene *c)
{
    const double steps = fmax(1, (double)c->d->steps.n_counted);
    double       calls = 0, bytes = 0;

    for (size_t i = 0; i < c->d->comm.n; i++) {
        const hu_collective *row = &c->d->comm.at[i];

        if (row->bytes < 0 || (row->kind != HU_COMM_ALL_REDUCE && row->kind != HU_COMM_REDUCE_SCATTER))
            continue;
        calls += (double)row->duration.n;
        bytes += (double)row->bytes * (double)row->duration.n;
    }
    return calls >= MANY_PIECES * steps && bytes < SMALL_PIECE_BYTES * calls;
}

/*
 * The main thread's time in collectives; or, where threads of a library communicate for it (gloo), what of the critical path
 * is in theirs.  That takes a recording which knows what threads wait for: else the wait for a late rank is among them.
 */
static hu_ns_per_step host_time(const hu_scene *c, bool *is_elsewhere)
{
    const hu_ns_per_step own = hu_scene_node_time(c, 0, HU_CLASS_BIT(HOST_COMM));
    const hu_ns_per_step path = hu_scene_path_time(c, HU_CLASS_HOST_COMM);

    *is_elsewhere = c->d->info.state_source != HU_STATES_NONE && path.ns > own.ns;
    return *is_elsewhere ? path : own;
}

/* Of that, what can be communication and not waiting. */
static hu_ns_per_step moved_time(const hu_scene *c, bool is_elsewhere)
{
    const hu_graph *g = &c->s->graph;
    double          sum = 0;

    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->node[i].class == HU_CLASS_HOST_COMM && (is_elsewhere || g->node[i].lane == g->main_lane) &&
            g->node[i].start_ns >= g->mark[0].host_end_ns && g->node[i].start_ns < g->mark[g->n_marks - 1].host_end_ns)
            sum += (double)hu_edit_message_ns(hu_pricer_facts(c->s->pricer), i);
    return hu_as_mean(sum / (double)c->n_steps);
}

/* MPI has sends and receives, which are no collectives. */
static bool is_of_mpi(const hu_scene *c)
{
    return c->d->comm.n && hu_str_starts(c->d->comm.at[0].name, HU_STR("MPI_"));
}

/* Was most of the communication launched before computation of its step had ended?  Then it could have been hidden. */
static bool gate_exposed(const hu_scene *c, hu_hint *h, bool poor)
{
    const hu_step_time  *t = hu_digest_step_time(c->d);
    bool                 is_elsewhere;
    const hu_ns_per_step host = host_time(c, &is_elsewhere);
    hu_ns_per_step       exposed, step, moved; /* both of all steps that count; the window may be some of them */

    if (!t)
        return false;
    exposed = hu_as_mean(t->exposed_comm_ns);
    step = hu_as_mean(t->step_ns);
    moved = hu_as_mean(fmin(host.ns, moved_time(c, is_elsewhere).ns));
    if (!hu_is_share_of_step(exposed, LEAST_COMM, step) && !hu_is_share_of_step(moved, LEAST_COMM, c->step))
        return false;
    if ((overlap_of(c) < LEAST_OVERLAP && c->d->gpu_time.comm_ns > 0) != poor)
        return false;
    /* Where nearly all of it is waiting, a little of transfer is not what holds anybody up. */
    if (exposed.ns <= 0 && moved.ns < LEAST_OF_WAITING * host.ns &&
        !hu_is_share_of_step(moved, LEAST_BESIDE_WAITING, c->step))
        return false;
    if (exposed.ns > 0)
        hu_hint_say(h, "Communication takes %s. Exposed: %s.", hu_scene_each(c, hu_as_mean(t->comm_ns)).t,
                    hu_say_of_step(exposed, step, c->has_steps).t);
    else
        hu_hint_say(h, "The host spends %s in %s.", hu_scene_share(c, host).t, is_of_mpi(c) ? "MPI calls" : "collectives");
    if (exposed.ns <= 0 && moved.ns < LEAST_OVERLAP * host.ns)
        hu_hint_show(h, "their bytes take no more than %s: the rest is waiting for other ranks", hu_scene_share(c, moved).t);
    if (c->d->comm.n)
        hu_hint_show(h, "most of it: %.*s, %s; %zu call%s", HU_FMT(c->d->comm.at[0].name),
                     hu_say_in_all(hu_as_sum(c->d->comm.at[0].duration.sum)).t, c->d->comm.at[0].duration.n,
                     hu_plural((int64_t)c->d->comm.at[0].duration.n));
    if (is_in_pieces(c))
        h->fix =
            "fewer and larger messages: DDP(bucket_cap_mb=25) or larger instead of one all-reduce per tensor; then start "
            "them during backward";
    return true;
}

bool hu_gate_exposed_comm(const hu_scene *c, hu_hint *h)
{
    return gate_exposed(c, h, false);
}

bool hu_gate_poor_overlap(const hu_scene *c, hu_hint *h)
{
    return gate_exposed(c, h, true);
}

bool hu_gate_latency(const hu_scene *c, hu_hint *h)
{
    double               calls;
    const hu_ns_per_step small = small_comm_time(c, &calls);

    if (!hu_scene_is_much(c, small) || calls < MANY_MESSAGES)
        return false;
    hu_hint_say(h, "Small collectives take %s. There are %lld of them %s: their number costs more than their bytes.",
                hu_scene_share(c, small).t, (long long)(calls + 0.5), c->has_steps ? "per step" : "in the whole capture");
    for (size_t i = 0; i < c->d->comm.n; i++) {
        const hu_collective *row = &c->d->comm.at[i];

        if (row->bound != HU_COMM_BY_LATENCY)
            continue;
        hu_hint_show(h, "%.*s of %lld bytes, %zu call%s in the whole capture: latency-bound even in the shortest call",
                     HU_FMT(row->name), (long long)row->bytes, row->duration.n, hu_plural((int64_t)row->duration.n));
        break;
    }
    return true;
}

bool hu_gate_accumulation(const hu_scene *c, hu_hint *h)
{
    const hu_graph        *g = &c->s->graph;
    const hu_accumulation *a = hu_edit_accumulation(hu_pricer_facts(c->s->pricer));
    hu_ns_per_step         time = {0};
    char                   bytes[HU_NUMBER_BYTES];

    for (size_t i = 0; a->op && i < g->n_ops; i++)
        time.ns += a->op[i] && g->op[i].step >= 0 ? (double)g->op[i].cost_ns / (double)c->n_steps : 0;
    for (size_t i = 0; a->node && i < g->n_nodes; i++)
        time.ns += a->node[i] ? (double)g->node[i].cost_ns / (double)c->n_steps : 0;
    if (!hu_scene_is_much(c, time))
        return false;
    hu_format_fixed(bytes, (double)a->bytes / 1e6, a->bytes < 10000000 ? 2 : 0);
    hu_hint_say(h,
                "The same %s MB of gradients are reduced %s times before each step of the optimizer, once per "
                "micro-batch; only the last needs it. The others take %s.",
                bytes, hu_say_count((a->passes + a->rounds / 2) / a->rounds).t, hu_scene_share(c, time).t);
    hu_hint_show(h, "%s backward passes between %s optimizer steps all-reduce the same buckets in the same order",
                 hu_say_count(a->passes).t, hu_say_count(a->rounds).t);
    return true;
}
