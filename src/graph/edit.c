/* SPDX-License-Identifier: Apache-2.0
 * edit.c - one function for each edit.
 *
 * What an edit leaves is bounded below: a kernel does not take less than KERNEL_FLOOR_NS.  "Realistic" is what the usual fix
 * leaves over; the constants for that are guesses of ordinary size and stand here, those that a device or a trace may
 * correct in edit_facts.c.
 *
 * Several edits are applied to the same costs one after the other: each changes what the ones before it left, and never
 * goes back to a measured time.
 */
#include "graph/edit_host.h"

#include <math.h>

#include "analyze/kernels.h"
#include "base/glob.h"

enum {
    KERNEL_FLOOR_NS = 1500, /* no kernel takes less */
    COMM_FLOOR_NS = 20000,  /* what a collective takes with nothing to send */
    ASYNC_CALL_NS = 8000,   /* a copy call that does not wait */
};

static const double FUSED_FACTOR = 1.25; /* of the longest kernel of a chain that the fused one takes */
static const double TENSOR_SHARE = 0.5;  /* of the peak's advantage that products usually reach */

/* What is left of a cost, where the measured time `was_ns` would become `becomes_ns`: the same share of it. */
static int64_t in_proportion(int64_t cost_ns, int64_t becomes_ns, int64_t was_ns)
{
    return was_ns > 0 ? (int64_t)((double)cost_ns * ((double)becomes_ns / (double)was_ns) + 0.5) : cost_ns;
}

/* Host nodes that lie in something, or are of some class, N times faster. */
static size_t speed_up_nodes(const hu_edit_facts *f, hu_costs *c, uint8_t in, unsigned classes, double factor)
{
    const hu_graph *g = f->g;
    size_t          n = 0;

    if (!hu_edit_has_nodes(f, in, classes))
        return 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (!(g->node[i].in & in) && !(1u << g->node[i].class & classes))
            continue;
        c->node[i] = hu_edit_divide(c->node[i], factor, 0);
        n++;
    }
    return n;
}

/* Does a node wait for a worker of the loader (loaders.c)? */
static bool waits_for_batch(const hu_graph *g, const hu_node *n)
{
    return n->call == HU_CALL_NONE && n->n_waits && g->link[n->waits].class == HU_CLASS_DATA;
}

/* Only the part of the time in the loader that other work cannot hide is left; see price.c for how large it is. */
static size_t edit_data(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;

    /* a wait for a worker is a link: what is left of it stands in its node */
    for (size_t i = 0; i < g->n_nodes; i++)
        if (waits_for_batch(g, &g->node[i])) {
            c->node_flags[i] |= HU_EDIT_NO_WAIT;
            c->node[i] = g->node[i].in & HU_IN_DATA ? g->node[i].seen_ns : c->node[i];
        }
    return speed_up_nodes(f, c, HU_IN_DATA, HU_CLASS_BIT(DATA), e->factor);
}

static size_t edit_sync(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    size_t          n = 0;

    /* what a checkpoint writes it has to wait for, and it is read for nothing else; a file gets what was computed: such a
       wait goes with the file, and not before */
    for (size_t i = 0; e->flavour == HU_EDIT_WITH_USES && i < g->n_nodes; i++)
        if (f->host.is_use[i] && !(g->node[i].in & HU_IN_IO))
            c->node[i] = 0;
    for (size_t k = 0; k < f->n_syncs; k++) {
        if (e->flavour != HU_EDIT_FREE && g->node[f->syncs[k]].in & HU_IN_IO)
            continue;
        c->node_flags[f->syncs[k]] |= HU_EDIT_NO_WAIT;
        n++;
    }
    return n;
}

/* What the copy takes from pinned memory: its bytes at the rate that the host's link usually reaches. */
static int64_t pinned_ns(const hu_edit_facts *f, uint32_t op)
{
    const hu_ask  *ask = f->g->ask;
    const uint32_t row = ask->s.detail[f->g->op[op].slice];
    const int64_t  bytes = row == HU_NONE ? -1 : hu_trace_copy_detail(ask->trace, row)->bytes;

    if (bytes < 0)
        return f->g->op[op].cost_ns / 2;
    return KERNEL_FLOOR_NS + (int64_t)((double)bytes / f->link_gbps);
}

static size_t edit_copy(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    size_t          n = 0;

    for (uint32_t i = 0; i < g->n_ops; i++) {
        const hu_str   name = hu_ask_name(g->ask, g->op[i].slice);
        const uint32_t node = g->op[i].node;

        if (g->op[i].class != HU_CLASS_COPY || !hu_str_has(name, HU_STR("HtoD")))
            continue;
        n++;
        if (e->flavour == HU_EDIT_FREE) {
            c->op[i] = 0;
            c->op_flags[i] |= HU_EDIT_DETACHED;
        } else if (hu_str_has(name, HU_STR("Pageable"))) {
            const int64_t pinned = pinned_ns(f, i);

            c->op[i] = c->op[i] < pinned ? c->op[i] : pinned;
        } else if (hu_str_has(name, HU_STR("Pinned")) || hu_str_has(name, HU_STR("(write "))) {
            /* of the next step's batch, on a stream of its own, or of OpenCL on a queue of its own, whatever memory it is
               from; bound.h has the link */
            c->op_flags[i] |= HU_EDIT_DETACHED;
        }
        if (!g->op[i].has_launch)
            continue;
        c->node_flags[node] |= HU_EDIT_NO_WAIT;
        c->node[node] = c->node[node] < ASYNC_CALL_NS ? c->node[node] : ASYNC_CALL_NS;
    }
    return n;
}

enum {
    HOST_CLASSES = HU_EDIT_LAUNCH_CLASSES | HU_CLASS_BIT(DATA) | HU_CLASS_BIT(IO) | HU_CLASS_BIT(GC) |
                   HU_CLASS_BIT(HOST_COMM) | HU_CLASS_BIT(SYNC_CALL) | HU_CLASS_BIT(ALLOC_CALL) | HU_CLASS_BIT(COMPILE_CALL),
};

static size_t edit_host(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    return speed_up_nodes(f, c, 0, HOST_CLASSES, e->factor);
}

static size_t edit_kernel(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    enum { UNKNOWN, YES, NO };
    const hu_graph *g = f->g;
    size_t          n = 0;

    memset(f->match, UNKNOWN, hu_trace_string_count(g->ask->trace));
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const uint32_t name = g->ask->s.name[g->op[i].slice];

        if (f->match[name] == UNKNOWN)
            f->match[name] = hu_glob_match(e->glob, hu_trace_text(g->ask->trace, name)) ? YES : NO;
        if (f->match[name] != YES)
            continue;
        c->op[i] = hu_edit_divide(c->op[i], e->factor, KERNEL_FLOOR_NS);
        n++;
    }
    return n;
}

static size_t speed_up_launched(const hu_graph *g, hu_costs *c, uint8_t in, double factor)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n_ops; i++) {
        if (!(g->op[i].has_launch || g->op[i].in_graph) || !(g->node[g->op[i].node].in & in))
            continue;
        c->op[i] = hu_edit_divide(c->op[i], factor, KERNEL_FLOOR_NS);
        if (isinf(factor))
            c->op_flags[i] |= HU_EDIT_DETACHED;
        n++;
    }
    return n;
}

static size_t edit_op(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    return speed_up_nodes(f, c, HU_IN_FOCUS, 0, e->factor) + speed_up_launched(f->g, c, HU_IN_FOCUS, e->factor);
}

static size_t edit_comm(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    int64_t         comm = 0, compute = 0; /* what an edit before this one left of them */
    size_t          n = 0;

    for (size_t i = 0; i < g->n_ops; i++) {
        const hu_op *op = &g->op[i];

        compute += op->class == HU_CLASS_COMPUTE ? c->op[i] : 0;
        if (op->class == HU_CLASS_COMM) {
            n++;
            comm += c->op_flags[i] & HU_EDIT_DETACHED ? 0 : c->op[i];
            if (e->flavour == HU_EDIT_REALISTIC && isinf(e->factor))
                c->op_flags[i] |= HU_EDIT_DETACHED;
            else
                c->op[i] = hu_edit_divide(c->op[i], e->factor, COMM_FLOOR_NS);
        }
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        int64_t moved_ns; /* the rest is waiting for other ranks, which stays */

        if (g->node[i].class != HU_CLASS_HOST_COMM)
            continue;
        moved_ns = hu_edit_message_ns(f, i) < c->node[i] ? hu_edit_message_ns(f, i) : c->node[i];
        c->node[i] += hu_edit_divide(moved_ns, e->factor, 0) - moved_ns;
        n++;
    }
    if (e->flavour == HU_EDIT_REALISTIC && isinf(e->factor)) {
        /* what runs beside it gets slower: the communication's time, as far as it was alone, costs a share of it */
        const double slower = compute ? 1 + f->slowdown * fmin(1, f->exposed * (double)comm / (double)compute) : 1;

        for (size_t i = 0; i < g->n_ops; i++)
            if (g->op[i].class == HU_CLASS_COMPUTE && !f->is_overlapped[i])
                c->op[i] = (int64_t)((double)c->op[i] * slower);
    }
    return n;
}

/* Of each step's short collectives, or of N of them in a row, the first stays and carries the others. */
static size_t edit_bucket(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    size_t          n = 0;
    int             last_step = -2;
    double          carried = 0;

    for (size_t i = 0; i < g->n_ops; i++) {
        const hu_op *op = &g->op[i];

        if (!hu_edit_is_small_message(g, (uint32_t)i))
            continue;
        n++;
        if (op->step != last_step || ++carried >= e->factor) {
            last_step = op->step;
            carried = 0;
            continue;
        }
        c->op[i] = 0;
        c->op_flags[i] |= HU_EDIT_DETACHED;
        if (op->has_launch)
            c->node[op->node] = 0;
    }
    return n;
}

/*
 * What is copied to the host for a file: nothing without the file; for one that is written later it goes through pinned
 * memory.
 */
static size_t copy_for_files(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    size_t          n = 0;

    for (uint32_t i = 0; i < g->n_ops; i++) {
        if (!g->op[i].has_launch || !(g->node[g->op[i].node].in & HU_IN_IO) || !hu_edit_is_copy_to_host(g, i))
            continue;
        n++;
        if (e->flavour == HU_EDIT_FREE) {
            c->op[i] = hu_edit_divide(c->op[i], e->factor, KERNEL_FLOOR_NS);
            if (isinf(e->factor))
                c->op_flags[i] |= HU_EDIT_DETACHED;
        } else if (hu_str_has(hu_ask_name(g->ask, g->op[i].slice), HU_STR("Pageable"))) {
            const int64_t pinned = pinned_ns(f, i);

            c->op[i] = c->op[i] < pinned ? c->op[i] : pinned;
        }
    }
    return n;
}

static size_t edit_io(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    size_t n = speed_up_nodes(f, c, HU_IN_IO, HU_CLASS_BIT(IO), e->factor) + copy_for_files(f, e, c);

    if (e->flavour == HU_EDIT_WITH_USES)
        hu_edit_around(f, false, c);
    for (size_t i = 0; i < f->g->n_nodes; i++)
        if (f->g->node[i].in & HU_IN_IO)
            c->node_flags[i] |= HU_EDIT_NO_WAIT;
    return n;
}

static size_t edit_lock(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    return speed_up_nodes(f, c, 0, HU_CLASS_BIT(LOCK), e->factor) + hu_edit_wakes(f, HU_CLASS_LOCK, e, c);
}

static size_t edit_sleep(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    return speed_up_nodes(f, c, 0, HU_CLASS_BIT(SLEEP), e->factor);
}

/* What was taken from a node's time. */
static size_t take_away(const hu_edit_facts *f, const int64_t *of_node, hu_costs *c)
{
    size_t n = 0;

    for (size_t i = 0; of_node && i < f->g->n_nodes; i++) {
        if (!of_node[i])
            continue;
        c->node[i] = c->node[i] > of_node[i] ? c->node[i] - of_node[i] : 0;
        n++;
    }
    return n;
}

/*
 * A collective asks again and again, and loses nothing.  Where an edit before this one took waits away with the computing
 * that they were for, the share of a node that was no wait stays.
 */
static size_t edit_cpu(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    size_t n = 0;

    (void)e;
    for (size_t i = 0; f->starved_ns && i < f->g->n_nodes; i++) {
        const hu_node *node = &f->g->node[i];
        const int64_t  rest = node->cost_ns > f->starved_ns[i] ? node->cost_ns - f->starved_ns[i] : 0;
        const int64_t  left = c->node[i] - f->starved_ns[i], least = in_proportion(c->node[i], rest, node->cost_ns);

        if (!f->starved_ns[i] || node->class == HU_CLASS_HOST_COMM)
            continue;
        c->node[i] = left > least ? left : least;
        n++;
    }
    return n;
}

static size_t edit_gc(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    return speed_up_nodes(f, c, HU_IN_GC, HU_CLASS_BIT(GC), e->factor);
}

static size_t edit_tensor(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    const double    factor = e->flavour == HU_EDIT_FREE ? f->tensor_factor : f->tensor_factor * TENSOR_SHARE;
    size_t          n = 0;

    for (size_t i = 0; i < g->n_ops && f->has_tensor; i++) {
        const uint32_t name = g->ask->s.name[g->op[i].slice];

        if (g->op[i].class != HU_CLASS_COMPUTE || !f->is_plain[name] || hu_kernel_is_low_precision(g->ask, g->op[i].slice))
            continue;
        c->op[i] = hu_edit_divide(c->op[i], factor, KERNEL_FLOOR_NS);
        n++;
    }
    return n;
}

static bool is_pointwise(const hu_edit_facts *f, const hu_op *op)
{
    const uint32_t name = f->g->ask->s.name[op->slice];

    return op->class == HU_CLASS_COMPUTE && f->family[name] != HU_EDIT_NO_KERNEL && f->family[name] == HU_FAMILY_ELEMENTWISE;
}

/* One launch less: its call, and the operator's own time since the call before it. */
static void drop_launch(const hu_graph *g, hu_costs *c, uint32_t node)
{
    const uint32_t lane = g->node[node].lane;

    c->node[node] = 0;
    for (uint32_t i = node; i-- > 0 && node - i < 64;) {
        if (g->node[i].lane != lane)
            continue;
        if (g->node[i].call != HU_CALL_NONE || !(1u << g->node[i].class & HU_EDIT_LAUNCH_CLASSES))
            return;
        c->node[i] = 0;
    }
}

static size_t edit_fuse(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    const double    factor = e->flavour == HU_EDIT_FREE ? 1 : FUSED_FACTOR;
    uint32_t       *head = f->head;
    size_t          n = 0;

    for (uint32_t i = 0; i < g->n_ops; i++) {
        const hu_op *op = &g->op[i];
        uint32_t     first;

        head[i] = HU_NONE;
        if (!is_pointwise(f, op))
            continue;
        head[i] = i;
        if (op->before == HU_NONE || head[op->before] == HU_NONE || g->op[op->before].step != op->step || op->n_deps)
            continue;
        first = head[i] = head[op->before];
        c->op[first] = c->op[i] > c->op[first] ? c->op[i] : c->op[first]; /* the longest of the chain so far */
        c->op[i] = 0;
        c->op_flags[i] |= HU_EDIT_DETACHED;
        if (op->has_launch)
            drop_launch(g, c, op->node);
        n++;
    }
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const uint32_t first = head[i];

        if (first == HU_NONE || first == i || head[first] == HU_NONE)
            continue;
        c->op[first] = (int64_t)((double)c->op[first] * factor);
        head[first] = HU_NONE; /* once for each chain */
    }
    return n;
}

static size_t edit_recompute(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    return speed_up_nodes(f, c, HU_IN_RECOMPUTE, 0, e->factor) + speed_up_launched(f->g, c, HU_IN_RECOMPUTE, e->factor);
}

static size_t edit_contention(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    size_t n = 0;

    (void)e;
    for (size_t i = 0; i < f->g->n_ops; i++) {
        if (!f->is_overlapped[i] || !f->alone_ns[i] || f->alone_ns[i] >= f->g->op[i].cost_ns)
            continue;
        c->op[i] = in_proportion(c->op[i], f->alone_ns[i], f->g->op[i].cost_ns);
        n++;
    }
    return n;
}

static size_t edit_clock(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    size_t n = 0;

    (void)e;
    for (size_t i = 0; i < f->g->n_ops; i++) {
        if (!f->drift.early_ns[i])
            continue;
        /* one that was faster than the mean too, so that noise is no gain */
        c->op[i] = in_proportion(c->op[i], f->drift.early_ns[i], f->g->op[i].cost_ns);
        n++;
    }
    return n;
}

/* What is launched and waited for meanwhile is for a trial. */
static size_t edit_compile(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    for (size_t i = 0; i < f->g->n_nodes; i++)
        if (f->g->node[i].in & HU_IN_COMPILE)
            c->node_flags[i] |= HU_EDIT_NO_WAIT;
    return speed_up_nodes(f, c, HU_IN_COMPILE, HU_CLASS_BIT(COMPILE_CALL), e->factor) +
           speed_up_launched(f->g, c, HU_IN_COMPILE, e->factor);
}

static size_t edit_profiler(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    (void)e;
    return take_away(f, f->profiler_ns, c);
}

static size_t edit_casts(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    (void)e;
    return take_away(f, f->casts_ns, c);
}

/*
 * Fused, the arithmetic stays: of AdamW and SGD over 150 and 400 tensors of 64 to 4,096 elements, torch 2's fused=True on
 * two CPUs took away 61 to 90 %, 78 % in the mean; foreach=True, which computes tensor by tensor there, 40 % and less.
 */
static size_t edit_optimizer(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    static const double stays = 0.2;
    size_t              n = 0;

    if (e->flavour == HU_EDIT_FREE)
        return take_away(f, f->optimizer_ns, c);
    for (size_t i = 0; f->optimizer_ns && i < f->g->n_nodes; i++) {
        const int64_t gone_ns = (int64_t)((1 - stays) * (double)f->optimizer_ns[i]);

        c->node[i] = c->node[i] > gone_ns ? c->node[i] - gone_ns : 0;
        n += gone_ns > 0;
    }
    return n;
}

/* The host's time in such passes, and the work that it launches there. */
static size_t edit_validation(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;

    (void)e;
    for (size_t i = 0; f->validation_ns && i < g->n_ops; i++) {
        if (!(g->op[i].has_launch || g->op[i].in_graph) || !f->validation_ns[g->op[i].node])
            continue;
        c->op[i] = 0;
        c->op_flags[i] |= HU_EDIT_DETACHED;
    }
    for (size_t i = 0; f->validation_ns && i < g->n_nodes; i++)
        if (f->validation_ns[i])
            c->node_flags[i] |= HU_EDIT_NO_WAIT;
    return take_away(f, f->validation_ns, c);
}

/* All but the reductions of the last micro-batch, which carry the sum. */
static size_t edit_accumulate(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    size_t          n = 0;

    (void)e;
    for (size_t i = 0; f->more.op && i < g->n_ops; i++) {
        if (!f->more.op[i])
            continue;
        c->op[i] = 0;
        c->op_flags[i] |= HU_EDIT_DETACHED;
        if (g->op[i].has_launch)
            c->node[g->op[i].node] = 0;
        n++;
    }
    for (size_t i = 0; f->more.node && i < g->n_nodes; i++) {
        if (!f->more.node[i])
            continue;
        c->node[i] = 0;
        c->node_flags[i] |= HU_EDIT_NO_WAIT;
        n++;
    }
    return n;
}

/* What is between ranks is not in one of them. */
static size_t edit_nothing(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    (void)f;
    (void)e;
    (void)c;
    return 0;
}

/* clang-format off */
static size_t (*const apply[HU_EDIT_KINDS])(const hu_edit_facts *, const hu_edit *, hu_costs *) = {
    [HU_EDIT_DATA] = edit_data,           [HU_EDIT_SYNC] = edit_sync,
    [HU_EDIT_COPY] = edit_copy,           [HU_EDIT_LAUNCH] = hu_edit_launch,
    [HU_EDIT_HOST] = edit_host,           [HU_EDIT_KERNEL] = edit_kernel,
    [HU_EDIT_OP] = edit_op,               [HU_EDIT_COMM] = edit_comm,
    [HU_EDIT_BUCKET] = edit_bucket,       [HU_EDIT_ALLOC] = hu_edit_alloc,
    [HU_EDIT_IO] = edit_io,               [HU_EDIT_GC] = edit_gc,
    [HU_EDIT_SMALL_CALLS] = hu_edit_small_calls, [HU_EDIT_PAGE_FAULTS] = hu_edit_page_faults_away,
    [HU_EDIT_PROCESSES] = hu_edit_processes,
    [HU_EDIT_LOCK] = edit_lock,           [HU_EDIT_SLEEP] = edit_sleep,
    [HU_EDIT_CPU] = edit_cpu,             [HU_EDIT_THREADS] = hu_edit_threads,
    [HU_EDIT_TEAMS] = hu_edit_teams,
    [HU_EDIT_CHILD] = hu_edit_child,      [HU_EDIT_CHILDREN] = hu_edit_children_share,
    [HU_EDIT_LOOKS] = hu_edit_looks,
    [HU_EDIT_TENSOR] = edit_tensor,       [HU_EDIT_FUSE] = edit_fuse,
    [HU_EDIT_RECOMPUTE] = edit_recompute, [HU_EDIT_CONTENTION] = edit_contention,
    [HU_EDIT_CLOCK] = edit_clock,
    [HU_EDIT_WORK] = hu_edit_work,        [HU_EDIT_UNRECORDED] = hu_edit_unrecorded,
    [HU_EDIT_CAPTURE] = hu_edit_capture,  [HU_EDIT_BLOCKING] = hu_edit_blocking,
    [HU_EDIT_PIN] = hu_edit_pin,          [HU_EDIT_CASTS] = edit_casts,
    [HU_EDIT_OPTIMIZER] = edit_optimizer, [HU_EDIT_VALIDATION] = edit_validation,
    [HU_EDIT_COMPILE] = edit_compile,     [HU_EDIT_PROFILER] = edit_profiler,
    [HU_EDIT_ACCUMULATE] = edit_accumulate,
    [HU_EDIT_STRAGGLER] = edit_nothing,   [HU_EDIT_BALANCE] = edit_nothing,
    [HU_EDIT_HICCUPS] = edit_nothing,     [HU_EDIT_NETWORK] = edit_nothing,
    [HU_EDIT_BANDWIDTH] = edit_nothing,   [HU_EDIT_LATENCY] = edit_nothing,
};
/* clang-format on */

int64_t hu_edit_message_ns(const hu_edit_facts *facts, size_t node)
{
    return facts->message_ns ? facts->message_ns[node] : facts->g->node[node].cost_ns;
}

const hu_accumulation *hu_edit_accumulation(const hu_edit_facts *facts)
{
    return &facts->more;
}

const hu_joined *hu_edit_joined(const hu_edit_facts *facts)
{
    return &facts->joined;
}

const hu_waited_children *hu_edit_waited_children(const hu_edit_facts *facts)
{
    return &facts->waited;
}

const hu_drift *hu_edit_drift(const hu_edit_facts *facts)
{
    return &facts->drift;
}

int64_t hu_edit_casts_ns(const hu_edit_facts *facts, size_t node)
{
    return facts->casts_ns ? facts->casts_ns[node] : 0;
}

int64_t hu_edit_optimizer_ns(const hu_edit_facts *facts, size_t node)
{
    return facts->optimizer_ns ? facts->optimizer_ns[node] : 0;
}

int64_t hu_edit_validation_ns(const hu_edit_facts *facts, size_t node)
{
    return facts->validation_ns ? facts->validation_ns[node] : 0;
}

const hu_children *hu_edit_children(const hu_edit_facts *facts)
{
    return &facts->children;
}

const hu_page_faults *hu_edit_page_faults(const hu_edit_facts *facts)
{
    return &facts->page_faults;
}

const hu_train_parts *hu_edit_train_parts(const hu_edit_facts *facts)
{
    return &facts->parts;
}

const hu_host_work *hu_edit_host_work(const hu_edit_facts *facts)
{
    return &facts->host;
}

bool hu_edit_is_joint(hu_edit_kind kind)
{
    return apply[kind] == edit_nothing;
}

size_t hu_edit_apply(const hu_edit_facts *facts, const hu_edit *edit, hu_costs *c)
{
    size_t n;

    if (edit->kind == HU_EDIT_CPU ||
        hu_edit_is_joint(edit->kind)) /* waits for a CPU are what it is about, or it is about none */
        return apply[edit->kind](facts, edit, c);
    hu_preempted_keep(&facts->preempted, facts->g, c);
    n = apply[edit->kind](facts, edit, c);
    hu_preempted_settle(&facts->preempted, facts->g, c);
    return n;
}
