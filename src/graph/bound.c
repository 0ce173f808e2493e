/* SPDX-License-Identifier: Apache-2.0
 * bound.c - limits that hold however the pieces of a step depend on each other.
 *
 * One thread and one stream do one thing after the other, so a step is never shorter than what is left for the busiest of
 * them.  And a step is as long as its longest path: where costs become less and no wait goes away, that path still is one,
 * shorter by at most all that was taken.  How much is taken may be a guess, so what counts is all that something is taken
 * from: the measured total of the cause.  Nor do streams divide a GPU: what was busy stays busy for as long as before.
 */
#include "graph/bound.h"

#include <math.h>

#include "base/interval.h"

static bool is_in_window(const hu_graph *g, const hu_node *n)
{
    return n->start_ns >= g->mark[0].host_end_ns && n->start_ns < g->mark[g->n_marks - 1].host_end_ns;
}

/* What an operation adds to its stream, whose cost is this. */
static int64_t on_stream(const hu_graph *g, size_t i, int64_t cost_ns, unsigned but)
{
    const hu_op *op = &g->op[i];

    return op->step < 0 || 1u << op->class & but ? 0 : cost_ns + (op->gap_ns < 0 ? op->gap_ns : 0);
}

static bool is_of_thread(const hu_graph *g, size_t i, unsigned but)
{
    return g->node[i].lane == g->main_lane && is_in_window(g, &g->node[i]) && !(1u << g->node[i].class & but);
}

bool hu_bound_base_init(hu_bound_base *base, const hu_graph *g, const hu_costs *was, unsigned but, hu_arena *arena)
{
    *base = (hu_bound_base){
        .was = was, .but = but, .busy_ns = hu_arena_calloc(arena, (size_t)g->n_streams + 1, sizeof *base->busy_ns)};
    if (!base->busy_ns)
        return false;
    for (size_t i = 0; i < g->n_ops; i++)
        base->busy_ns[g->op[i].stream] += on_stream(g, i, was->op[i], but);
    for (size_t i = 0; i < g->n_nodes; i++)
        base->thread_ns += is_of_thread(g, i, but) ? was->node[i] : 0;
    return true;
}

/* The columns of costs are short, and a row of the graph is read only where they differ. */
void hu_bound_streams(const hu_graph *g, const hu_bound_base *base, const hu_costs *c, int64_t *busy_ns)
{
    const int64_t *was = base->was->op;

    memcpy(busy_ns, base->busy_ns, g->n_streams * sizeof *busy_ns);
    for (size_t i = 0; i < g->n_ops; i++)
        if (c->op_flags[i] & HU_EDIT_DETACHED)
            busy_ns[g->op[i].stream] -= on_stream(g, i, was[i], base->but);
        else if (c->op[i] != was[i])
            busy_ns[g->op[i].stream] += on_stream(g, i, c->op[i], base->but) - on_stream(g, i, was[i], base->but);
}

static int64_t busiest_stream(const hu_graph *g, const hu_bound_base *base, const hu_costs *c, int64_t *busy_ns)
{
    int64_t most = 0;

    hu_bound_streams(g, base, c, busy_ns);
    for (uint32_t s = 0; s < g->n_streams; s++)
        most = busy_ns[s] > most ? busy_ns[s] : most;
    return most;
}

double hu_bound_least_ns(const hu_graph *g, const hu_bound_base *base, const hu_costs *c, int64_t *busy_ns)
{
    const int64_t *was = base->was->node;
    int64_t        stream = busiest_stream(g, base, c, busy_ns), thread = base->thread_ns;

    for (size_t i = 0; i < g->n_nodes; i++)
        if (c->node[i] != was[i] && is_of_thread(g, i, base->but))
            thread += c->node[i] - was[i];
    return (double)(thread > stream ? thread : stream) / (double)(g->n_marks - 1);
}

double hu_bound_work_ns(const hu_graph *g, hu_arena *scratch)
{
    hu_intervals work = {0};

    for (size_t i = 0; i < g->n_ops; i++) {
        const hu_op *op = &g->op[i];

        if (op->step >= 0 && op->class != HU_CLASS_COMM &&
            !hu_intervals_add(scratch, &work, op->start_ns, op->start_ns + op->cost_ns))
            return NAN;
    }
    if (!hu_intervals_unite(scratch, &work))
        return NAN;
    return (double)hu_intervals_length(&work) / (double)(g->n_marks - 1);
}

hu_bound_work hu_bound_work_left(const hu_graph *g, const hu_costs *was, const hu_costs *c, double work_ns)
{
    const double steps = (double)(g->n_marks - 1);
    int64_t      taken = 0;
    double       link = 0;

    for (size_t i = 0; i < g->n_ops; i++) {
        const hu_op *op = &g->op[i];
        const bool   is_detached = c->op_flags[i] & HU_EDIT_DETACHED;

        if ((!is_detached && c->op[i] >= was->op[i]) || op->step < 0 || op->class == HU_CLASS_COMM)
            continue;
        taken += is_detached ? op->cost_ns : op->cost_ns > c->op[i] ? op->cost_ns - c->op[i] : 0;
        if (is_detached && op->class == HU_CLASS_COPY)
            link += (double)c->op[i];
    }
    return (hu_bound_work){.left_ns = fmax(0, work_ns - (double)taken / steps), .link_ns = link / steps};
}

double hu_bound_touched_ns(const hu_graph *g, const hu_costs *was, const hu_costs *c)
{
    double sum = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        if (c->node_flags[i])
            return INFINITY;
        if (c->node[i] < was->node[i] && is_in_window(g, &g->node[i]))
            sum += (double)was->node[i];
    }
    for (size_t i = 0; i < g->n_ops; i++) {
        if (c->op_flags[i])
            return INFINITY;
        if (c->op[i] < was->op[i] && g->op[i].step >= 0)
            sum += (double)was->op[i];
    }
    return sum / (double)(g->n_marks - 1);
}

double hu_bound_cpus_ns(const hu_graph *g)
{
    const int64_t     cpus = g->ask ? hu_trace_get_info(g->ask->trace)->cpus : 0;
    size_t            n = 0;
    const hu_stretch *s = g->ask ? hu_trace_stretches(g->ask->trace, &n) : NULL;
    const uint32_t    own = hu_graph_main_track(g);
    double            sum = 0;

    if (cpus <= 0 || !g->is_whole || own == HU_NONE)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (s[i].state == HU_THREAD_RUNNING && g->ask->tracks[s[i].track].pid == g->ask->tracks[own].pid)
            sum += (double)(s[i].end_ns - s[i].start_ns);
    return sum / (double)cpus;
}
