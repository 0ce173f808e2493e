/* SPDX-License-Identifier: Apache-2.0
 * joint_comm.c - time = alpha + bytes / beta (analyze/fit.h), applied to each collective. */
#include "graph/joint_comm.h"

#include <math.h>

#include "base/map.h"

static const double SLOWEST_GBPS = 1; /* of links: 10 Gbit/s, less what protocols take */
static const double MOST_FACTOR = 2;  /* that a byte of a call is on the wire (nccl-tests) */

typedef struct {
    int64_t  alpha_ns;
    int64_t  least_ns; /* the shortest time that any rank spent in it */
    int64_t  most_ns;  /* that its bytes take on any link that people train over */
    uint64_t group;
    int      kind;
    int64_t  group_size;
    int      step; /* of the rank that its call is of; -1 before the first */
} cost;

struct hu_joint_comm {
    const hu_joint      *joint;
    const hu_joint_rank *ranks;
    size_t               n;
    cost                *at;      /* by meeting */
    int64_t             *more_ns; /* room: what a bucket carries for others; -1: it is carried */
};

/* The step in which a time of the host lies; -1 before the first. */
static int step_at(const hu_graph *g, int64_t time_ns)
{
    int step = -1;

    for (size_t i = 0; i + 1 < g->n_marks && g->mark[i].host_end_ns <= time_ns; i++)
        step = (int)i;
    return step;
}

static const hu_comm_fit *find_fit(const hu_comm_fit *fits, size_t n, const hu_collective *c)
{
    for (size_t i = 0; i < n; i++)
        if (fits[i].kind == c->kind && fits[i].group_size == c->group_size && fits[i].fit.n)
            return &fits[i];
    return NULL;
}

/* Latency by the fits, or -1. */
static int64_t fitted_alpha(const hu_comm_fit *fits, size_t n_fits, const hu_collective *c)
{
    const hu_comm_fit  *fit = find_fit(fits, n_fits, c);
    const double        wire = (double)c->bytes * c->factor;
    const hu_fit_piece *piece = fit && isfinite(wire) ? hu_fit_piece_at(&fit->fit, wire) : NULL;

    return piece ? (int64_t)piece->alpha_ns : -1;
}

/* What its bytes take on the slowest of links. */
static int64_t most_time(const hu_collective *c)
{
    const double factor = isfinite(c->factor) ? c->factor : MOST_FACTOR, ns = (double)c->bytes * factor / SLOWEST_GBPS;

    return c->bytes < 0 || ns > 1e18 ? INT64_MAX : (int64_t)ns;
}

/* The shortest time in each meeting, and the step in which it lies. */
static void find_times(hu_joint_comm *k)
{
    for (size_t r = 0; r < k->n; r++) {
        const hu_graph *g = k->ranks[r].graph;

        for (uint32_t i = 0; i < g->n_ops; i++) {
            const uint32_t m = hu_joint_of_op(k->joint, r, i);

            if (m == HU_NONE)
                continue;
            k->at[m].least_ns = g->op[i].cost_ns < k->at[m].least_ns ? g->op[i].cost_ns : k->at[m].least_ns;
            k->at[m].step = g->op[i].step;
        }
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            const uint32_t m = hu_joint_of_node(k->joint, r, i);

            if (m == HU_NONE)
                continue;
            k->at[m].least_ns = g->node[i].cost_ns < k->at[m].least_ns ? g->node[i].cost_ns : k->at[m].least_ns;
            k->at[m].step = step_at(g, g->node[i].start_ns);
        }
    }
}

static void describe(hu_joint_comm *k, uint32_t meeting, const hu_comm_fit *fits, size_t n_fits)
{
    const hu_comm_call  *call;
    const hu_collective *c;
    cost                *x = &k->at[meeting];
    size_t               rank;
    uint32_t             which;

    hu_joint_call(k->joint, meeting, &rank, &which);
    call = &k->ranks[rank].comm->calls_at[which];
    c = &k->ranks[rank].comm->at[call->row];
    *x = (cost){.alpha_ns = fitted_alpha(fits, n_fits, c),
                .least_ns = INT64_MAX,
                .most_ns = most_time(c),
                .group = call->group,
                .kind = (int)c->kind,
                .group_size = c->group_size};
}

static uint64_t key_of(const cost *c)
{
    return (uint64_t)c->kind << 56 ^ (uint64_t)c->group_size;
}

/* Where no fit tells it: half of the shortest of the same kind and group size, or what the bytes cannot take. */
static bool guess(hu_joint_comm *k, size_t n, hu_arena *arena)
{
    hu_map shortest;

    if (!hu_map_init(&shortest, arena, 16))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *place = hu_map_put(&shortest, key_of(&k->at[i]));

        if (!place)
            return false;
        if (*place == HU_MAP_NONE || k->at[i].least_ns < k->at[*place].least_ns)
            *place = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        cost         *x = &k->at[i];
        const int64_t half = k->at[hu_map_get(&shortest, key_of(x))].least_ns / 2;

        if (x->alpha_ns < 0)
            x->alpha_ns = x->least_ns - half > x->most_ns ? x->least_ns - x->most_ns : half;
        x->alpha_ns = x->alpha_ns > x->least_ns ? x->least_ns : x->alpha_ns;
    }
    return true;
}

hu_joint_comm *hu_joint_comm_new(const hu_joint *j, const hu_joint_rank *ranks, size_t n, const hu_comm_fit *fits,
                                 size_t n_fits, hu_arena *arena)
{
    const size_t   n_meetings = hu_joint_count(j);
    hu_joint_comm *k = hu_arena_calloc(arena, 1, sizeof *k);

    if (!k)
        return NULL;
    *k = (hu_joint_comm){.joint = j,
                         .ranks = ranks,
                         .n = n,
                         .at = hu_arena_calloc(arena, n_meetings + 1, sizeof *k->at),
                         .more_ns = hu_arena_alloc(arena, (n_meetings + 1) * sizeof *k->more_ns)};
    if (!k->at || !k->more_ns)
        return NULL;
    for (uint32_t i = 0; i < n_meetings; i++)
        describe(k, i, fits, n_fits);
    find_times(k);
    return guess(k, n_meetings, arena) ? k : NULL;
}

hu_joint_comm *hu_joint_comm_fork(const hu_joint_comm *k, hu_arena *arena)
{
    hu_joint_comm *fork = hu_arena_alloc(arena, sizeof *fork);

    if (!fork)
        return NULL;
    *fork = *k;
    fork->more_ns = hu_arena_alloc(arena, (hu_joint_count(k->joint) + 1) * sizeof *fork->more_ns);
    return fork->more_ns ? fork : NULL;
}

/* Every cost of a meeting becomes what `change` makes of it. */
static size_t change_all(const hu_joint_comm *k, hu_costs *const *costs, double factor,
                         int64_t (*change)(const hu_joint_comm *k, uint32_t meeting, int64_t cost_ns, double factor))
{
    size_t n = 0;

    for (size_t r = 0; r < k->n; r++) {
        const hu_graph *g = k->ranks[r].graph;

        for (uint32_t i = 0; i < g->n_ops; i++) {
            const uint32_t m = hu_joint_of_op(k->joint, r, i);

            if (m != HU_NONE) {
                costs[r]->op[i] = change(k, m, costs[r]->op[i], factor);
                n++;
            }
        }
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            const uint32_t m = hu_joint_of_node(k->joint, r, i);

            if (m != HU_NONE) {
                costs[r]->node[i] = change(k, m, costs[r]->node[i], factor);
                n++;
            }
        }
    }
    return n;
}

static int64_t faster(const hu_joint_comm *k, uint32_t m, int64_t cost_ns, double factor)
{
    const int64_t alpha = k->at[m].alpha_ns < cost_ns ? k->at[m].alpha_ns : cost_ns;

    return alpha + (int64_t)((double)(cost_ns - alpha) / factor);
}

static int64_t sooner(const hu_joint_comm *k, uint32_t m, int64_t cost_ns, double factor)
{
    const int64_t alpha = k->at[m].alpha_ns < cost_ns ? k->at[m].alpha_ns : cost_ns;

    return cost_ns - alpha + (int64_t)((double)alpha / factor);
}

size_t hu_joint_comm_bandwidth(const hu_joint_comm *k, double factor, hu_costs *const *costs)
{
    return change_all(k, costs, factor, faster);
}

size_t hu_joint_comm_latency(const hu_joint_comm *k, double factor, hu_costs *const *costs)
{
    return change_all(k, costs, factor, sooner);
}

static int64_t carry(const hu_joint_comm *k, uint32_t m, int64_t cost_ns, double factor)
{
    (void)factor;
    return k->more_ns[m] < 0 ? 0 : cost_ns + k->more_ns[m];
}

static bool goes_with(const cost *a, const cost *b)
{
    return !hu_comm_is_message((unsigned)a->kind) && a->group == b->group && a->kind == b->kind && a->step == b->step;
}

size_t hu_joint_comm_bucket(const hu_joint_comm *k, double factor, hu_costs *const *costs)
{
    const size_t n = hu_joint_count(k->joint);
    size_t       carried = 0;

    for (size_t first = 0, end; first < n; first = end) {
        int64_t more = 0;

        for (end = first + 1; end < n && (double)(end - first) < factor && goes_with(&k->at[first], &k->at[end]); end++) {
            more += k->at[end - 1].least_ns - k->at[end - 1].alpha_ns;
            k->more_ns[end - 1] = -1;
            carried++;
        }
        k->more_ns[end - 1] = more;
    }
    if (carried == 0)
        return 0;
    change_all(k, costs, factor, carry);
    return carried;
}
