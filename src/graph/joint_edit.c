/* SPDX-License-Identifier: Apache-2.0
 * joint_edit.c - ranks compared piece by piece.
 *
 * A leg is what a rank does from one of its meetings to the next: the nodes that begin in between, on whichever thread, and
 * the work that they launch.  The legs that lead to one meeting belong together, also when ranks do not have the same
 * kernels: what is compared is the sum of the host's work, and of the device's.  What communicates belongs to no leg.
 */
#include "graph/joint_edit.h"

#include <math.h>
#include <stdlib.h>

enum { FEWEST_LEGS = 5 };    /* for a rank to have a pace: three that are whole */
enum { MOST_COMPARED = 64 }; /* ranks of which a median is taken; of more, evenly spaced ones */

/* The host and the device work side by side. */
enum { HOST, DEVICE, SIDES };

typedef enum { MEAN, MEDIAN, MEDIAN_OF_OTHERS } what_is_usual;

typedef struct {
    int64_t sum_ns[HU_CLASS_COUNT + SIDES]; /* by class; then the sides */
} leg;

typedef struct {
    uint32_t *of_node; /* leg of each node */
    leg      *leg;
    uint32_t *to; /* the meeting that each leg leads to; the last one to the end of the window */
    size_t    n;
} itinerary;

struct hu_joint_facts {
    const hu_joint_rank *ranks;
    size_t               n;
    itinerary           *rank;
    uint32_t            *leg_to;      /* leg_to[meeting * n + rank]; HU_NONE: the rank is not there */
    size_t               n_meetings;  /* and one more for the end */
    double (*factor)[HU_CLASS_COUNT]; /* of the legs of one rank, while an edit is made */
    size_t most_legs;                 /* of any rank */
    double natural;                   /* by what share the host's work of the last rank exceeds the median, usually */
};

static const double FAR = 2.5;          /* times that: what takes longer was held up, what does not is how hosts are */
static const double SECOND = 5;         /* the last one's distance from the median, by that of the one before it, at most */
static const double LEAST_PAUSE = 0.01; /* of the step: many that are shorter are no pauses */
static const double HELD_UP = 2;        /* times as long as usual: that is held up, however much hosts differ */

static bool is_compared(hu_class c)
{
    return c != HU_CLASS_COMM && c != HU_CLASS_HOST_COMM;
}

static int side_of(hu_class c)
{
    return !is_compared(c) ? SIDES : c == HU_CLASS_COMPUTE || c == HU_CLASS_COPY ? DEVICE : HOST;
}

static void count(leg *l, hu_class c, int64_t cost_ns)
{
    l->sum_ns[c] += cost_ns;
    if (is_compared(c))
        l->sum_ns[HU_CLASS_COUNT + side_of(c)] += cost_ns;
}

/* A thread beside the main one that is in nothing waits for work, which is no work; nor is the start of all ranks. */
static bool is_work(const hu_graph *g, const hu_node *n)
{
    return is_compared(n->class) && !(n->in & HU_IN_START) && (n->lane == g->main_lane || n->slice != HU_NONE);
}

/* A wait for a loader's worker is a link (loaders.c): the rank that waits longer has the slower loader. */
static bool is_loader_wait(const hu_node *n)
{
    return n->in & HU_IN_DATA && n->n_waits && n->call == HU_CALL_NONE;
}

static int64_t work_of(const hu_node *n)
{
    return is_loader_wait(n) && n->seen_ns > n->cost_ns ? n->seen_ns : n->cost_ns;
}

/*
 * What ends a leg.  Not messages: those who exchange them are stages of one pipeline, and do not do the same before
 * them.  The stages are to be alike as a whole, so where there are any, only what all ranks take part in divides their
 * work.
 */
static uint32_t collective(const hu_joint *j, uint32_t m)
{
    if (m == HU_NONE || hu_joint_is_message(j, m))
        return HU_NONE;
    return hu_joint_messages(j) && !hu_joint_is_of_all(j, m) ? HU_NONE : m;
}

/* The collective that a node is of, itself or by what it launches. */
static uint32_t meeting_of(const hu_joint *j, const hu_graph *g, size_t r, uint32_t i)
{
    uint32_t m = collective(j, hu_joint_of_node(j, r, i));

    for (uint32_t k = g->node[i].ops; m == HU_NONE && k < g->node[i].ops + g->node[i].n_ops; k++)
        m = collective(j, hu_joint_of_op(j, r, k));
    return m;
}

static bool travel(hu_joint_facts *f, const hu_joint *j, size_t r, hu_arena *arena)
{
    const hu_graph *g = f->ranks[r].graph;
    itinerary      *t = &f->rank[r];
    size_t          meetings = 0;

    t->of_node = hu_arena_alloc(arena, (g->n_nodes + 1) * sizeof *t->of_node);
    if (!t->of_node)
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        meetings += meeting_of(j, g, r, i) != HU_NONE;
    t->leg = hu_arena_calloc(arena, meetings + 1, sizeof *t->leg);
    t->to = hu_arena_alloc(arena, (meetings + 1) * sizeof *t->to);
    if (!t->leg || !t->to)
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];
        const uint32_t m = meeting_of(j, g, r, i);

        t->of_node[i] = (uint32_t)t->n;
        if (is_work(g, n))
            count(&t->leg[t->n], n->class, work_of(n));
        for (uint32_t k = n->ops; k < n->ops + n->n_ops; k++)
            count(&t->leg[t->n], g->op[k].class, g->op[k].cost_ns);
        if (m != HU_NONE) {
            f->leg_to[(size_t)m * f->n + r] = (uint32_t)t->n;
            t->to[t->n++] = m;
        }
    }
    f->leg_to[(f->n_meetings - 1) * f->n + r] = (uint32_t)t->n;
    t->to[t->n++] = (uint32_t)f->n_meetings - 1;
    return true;
}

static double usual_of(const hu_joint_facts *f, uint32_t meeting, int c, what_is_usual what, size_t self);

typedef struct {
    double share, second, weight; /* of the last rank and of the one before it, above the median; the median itself */
} difference;

static int by_share(const void *left, const void *right)
{
    const difference *a = left, *b = right;

    return (a->share > b->share) - (a->share < b->share);
}

/* Sorts. */
static double median_share(difference *list, size_t n)
{
    double all = 0, below = 0, median = 0;

    for (size_t i = 0; i < n; i++)
        all += list[i].weight;
    qsort(list, n, sizeof *list, by_share);
    for (size_t i = 0; i < n && 2 * below < all; i++) {
        below += list[i].weight;
        median = list[i].share;
    }
    return median;
}

/*
 * No two hosts need the same time for the same work, and one of them is always the last.  By how much it usually is, the
 * median over the meetings by their time, a pause stands out of.  Where there is a pause before most meetings, the rank that
 * comes last but one tells: of four or more, hosts without pauses have it at a fifth of the last one's distance or further.
 * False when there is no memory.
 */
static bool find_natural(hu_joint_facts *f, hu_arena *arena)
{
    difference *last = hu_arena_calloc(arena, f->n_meetings, sizeof *last);

    if (!last)
        return false;
    for (size_t r = 0; r < f->n; r++)
        for (size_t k = 1; k + 1 < f->rank[r].n; k++) {
            difference  *d = &last[f->rank[r].to[k]];
            const double own = (double)f->rank[r].leg[k].sum_ns[HU_CLASS_COUNT + HOST];
            double       above;

            d->weight = fmax(0, usual_of(f, f->rank[r].to[k], HU_CLASS_COUNT + HOST, MEDIAN, r)); /* 0: there is nobody */
            above = d->weight > 0 ? own / d->weight - 1 : 0;
            d->second = fmax(d->second, fmin(above, d->share));
            d->share = fmax(d->share, above);
        }
    f->natural = fmin((HELD_UP - 1) / FAR, median_share(last, f->n_meetings));
    for (size_t m = 0; m < f->n_meetings; m++)
        last[m].share = SECOND * last[m].second;
    if (f->n >= 4)
        f->natural = fmin(f->natural, median_share(last, f->n_meetings));
    return true;
}

hu_joint_facts *hu_joint_facts_fork(const hu_joint_facts *f, hu_arena *arena)
{
    hu_joint_facts *fork = hu_arena_alloc(arena, sizeof *fork);

    if (!fork)
        return NULL;
    *fork = *f;
    fork->factor = hu_arena_alloc(arena, f->most_legs * sizeof *fork->factor);
    return fork->factor ? fork : NULL;
}

hu_joint_facts *hu_joint_facts_new(const hu_joint *j, const hu_joint_rank *ranks, size_t n, hu_arena *arena)
{
    hu_joint_facts *f = hu_arena_calloc(arena, 1, sizeof *f);

    if (!f)
        return NULL;
    f->ranks = ranks;
    f->n = n;
    f->n_meetings = hu_joint_count(j) + 1;
    f->most_legs = 1;
    f->rank = hu_arena_calloc(arena, n + 1, sizeof *f->rank);
    f->leg_to = hu_arena_alloc(arena, f->n_meetings * n * sizeof *f->leg_to);
    if (!f->rank || !f->leg_to)
        return NULL;
    memset(f->leg_to, 0xff, f->n_meetings * n * sizeof *f->leg_to);
    for (size_t r = 0; r < n; r++) {
        if (!travel(f, j, r, arena))
            return NULL;
        f->most_legs = f->rank[r].n > f->most_legs ? f->rank[r].n : f->most_legs;
    }
    f->factor = hu_arena_alloc(arena, f->most_legs * sizeof *f->factor);
    return f->factor && find_natural(f, arena) ? f : NULL;
}

static int64_t scaled(int64_t cost_ns, double factor)
{
    return (int64_t)((double)cost_ns * factor + 0.5);
}

/* All that a rank does becomes f->factor[leg][class] times as long. */
static size_t scale(const hu_joint_facts *f, size_t r, hu_costs *c)
{
    const hu_graph *g = f->ranks[r].graph;
    size_t          n = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        const double *by = f->factor[f->rank[r].of_node[i]];

        if (is_work(g, &g->node[i]) && by[g->node[i].class] != 1) {
            if (is_loader_wait(&g->node[i])) {
                c->node_flags[i] |= HU_EDIT_NO_WAIT;
                c->node[i] = work_of(&g->node[i]);
            }
            c->node[i] = scaled(c->node[i], by[g->node[i].class]);
            n++;
        }
        for (uint32_t k = g->node[i].ops; k < g->node[i].ops + g->node[i].n_ops; k++)
            if (by[g->op[k].class] != 1) {
                c->op[k] = scaled(c->op[k], by[g->op[k].class]);
                n++;
            }
    }
    return n;
}

static int by_value(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static bool is_of_host(int c)
{
    return c >= HU_CLASS_COUNT ? c - HU_CLASS_COUNT == HOST : side_of((hu_class)c) == HOST;
}

/* Of two there is no median: a pause of one is no work, and can go; work of the device is to be done by one or the other. */
static double middle(const int64_t *sorted, size_t n, int c, what_is_usual what)
{
    return what == MEDIAN && n == 2 && is_of_host(c) ? (double)sorted[0]
                                                     : ((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]) / 2;
}

/* What the ranks that meet do of a class, or of a side, before; NaN when there is nobody to compare with. */
static double usual_of(const hu_joint_facts *f, uint32_t meeting, int c, what_is_usual what, size_t self)
{
    const uint32_t *leg_to = f->leg_to + (size_t)meeting * f->n;
    const size_t    every = f->n / MOST_COMPARED + 1;
    int64_t         values[MOST_COMPARED];
    double          sum = 0;
    size_t          n = 0;

    for (size_t r = 0; r < f->n && n < MOST_COMPARED; r += every) {
        if ((what == MEDIAN_OF_OTHERS && r == self) || leg_to[r] == HU_NONE)
            continue;
        values[n] = f->rank[r].leg[leg_to[r]].sum_ns[c];
        sum += (double)values[n++];
    }
    if (n == 0)
        return (double)NAN;
    if (what == MEAN)
        return sum / (double)n;
    qsort(values, n, sizeof *values, by_value);
    return middle(values, n, c, what);
}

/* The same of one side's whole work. */
static double usual_total(const hu_joint_facts *f, uint32_t meeting, int side, what_is_usual what, size_t self)
{
    return usual_of(f, meeting, HU_CLASS_COUNT + side, what, self);
}

/*
 * The window cuts the first and the last leg of each rank, of one that runs ahead elsewhere than of one that is late:
 * what it left of them may be too much, but is never too little.
 */
static bool is_cut(const itinerary *t, size_t k)
{
    return k == 0 || k + 1 == t->n;
}

/*
 * One leg, one side: how long it should be is a matter of its total, because what one rank spends in Python another spends
 * in operators.  What is too much is taken where the others do less, in proportion; what is too little is spread evenly.
 */
static void fit_leg(const hu_joint_facts *f, const itinerary *t, size_t k, int side, what_is_usual what, size_t self,
                    double *factor)
{
    const leg   *l = &t->leg[k];
    const double own = (double)l->sum_ns[HU_CLASS_COUNT + side], wanted = usual_total(f, t->to[k], side, what, self);
    double       excess[HU_CLASS_COUNT] = {0}, sum = 0, all;

    if (what == MEDIAN && side == HOST &&
        (own <= (1 + FAR * f->natural) * wanted || own - wanted <= LEAST_PAUSE * f->ranks[self].graph->step_ns))
        return;
    if (isnan(wanted) || own <= 0 || (wanted >= own && (what == MEDIAN || (what == MEDIAN_OF_OTHERS && is_cut(t, k)))))
        return;
    for (hu_class c = 0; c < HU_CLASS_COUNT; c++) {
        if (side_of(c) != side || l->sum_ns[c] <= 0)
            continue;
        excess[c] = wanted < own ? fmax(0, (double)l->sum_ns[c] - usual_of(f, t->to[k], (int)c, what, self)) : 0;
        sum += excess[c];
    }
    all = sum >= own - wanted ? 1 : wanted / (own - sum); /* what the rest becomes, where the excess does not do */
    for (hu_class c = 0; c < HU_CLASS_COUNT; c++) {
        const double less = sum > 0 ? excess[c] * fmin(1, (own - wanted) / sum) : 0;

        if (side_of(c) == side && l->sum_ns[c] > 0)
            factor[c] = fmin(isnan(factor[c]) ? (double)INFINITY : factor[c],
                             all * ((double)l->sum_ns[c] - less) / (double)l->sum_ns[c]);
    }
}

/*
 * What the window left of its first and last leg is not the same on all ranks.  A rank's pace is that of the legs in
 * between, where there are any.
 */
static void fit_cut_legs(const hu_joint_facts *f, const itinerary *t, int side)
{
    double own[HU_CLASS_COUNT] = {0}, wanted[HU_CLASS_COUNT] = {0};

    for (size_t k = 1; k + 1 < t->n; k++)
        for (hu_class c = 0; c < HU_CLASS_COUNT; c++)
            if (side_of(c) == side) {
                own[c] += (double)t->leg[k].sum_ns[c];
                wanted[c] += (double)t->leg[k].sum_ns[c] * (isnan(f->factor[k][c]) ? 1 : f->factor[k][c]);
            }
    for (size_t k = 0; k < t->n; k += t->n - 1)
        for (hu_class c = 0; c < HU_CLASS_COUNT; c++)
            if (side_of(c) == side && own[c] > 0)
                f->factor[k][c] = fmin(isnan(f->factor[k][c]) ? (double)INFINITY : f->factor[k][c],
                                       fmin(1, wanted[c] / own[c]));
}

static bool is_edited(const hu_edit *e, size_t rank, what_is_usual *what)
{
    *what = e->kind == HU_EDIT_STRAGGLER ? MEDIAN_OF_OTHERS : e->kind == HU_EDIT_HICCUPS ? MEDIAN : MEAN;
    return hu_joint_edit_is_work(e->kind) && (e->kind != HU_EDIT_STRAGGLER || e->rank == (int64_t)rank);
}

size_t hu_joint_edit_work(const hu_joint_facts *f, const hu_edit *edits, size_t n, size_t rank, hu_costs *c)
{
    const itinerary *t = &f->rank[rank];
    bool             any = false, by_pace = false;

    for (size_t k = 0; k < t->n; k++)
        for (int x = 0; x < HU_CLASS_COUNT; x++)
            f->factor[k][x] = (double)NAN;
    for (size_t i = 0; i < n; i++) {
        what_is_usual what;

        if (!is_edited(&edits[i], rank, &what))
            continue;
        any = true;
        by_pace |= what == MEDIAN_OF_OTHERS && t->n >= FEWEST_LEGS;
        for (size_t k = 0; k < t->n; k++)
            for (int side = 0; side < SIDES; side++)
                if (what != MEDIAN_OF_OTHERS || t->n < FEWEST_LEGS || !is_cut(t, k))
                    fit_leg(f, t, k, side, what, rank, f->factor[k]);
    }
    for (int side = 0; by_pace && side < SIDES; side++)
        fit_cut_legs(f, t, side);
    for (size_t k = 0; any && k < t->n; k++)
        for (int x = 0; x < HU_CLASS_COUNT; x++)
            f->factor[k][x] = isnan(f->factor[k][x]) ? 1 : f->factor[k][x];
    return any ? scale(f, rank, c) : 0;
}
