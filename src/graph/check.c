/* SPDX-License-Identifier: Apache-2.0
 * check.c - the battery of docs/whatif.md.
 *
 * Local: how many starts the calibrated constants explain.  Global: the worst step of the replay.  Coverage: how much of
 * the critical path is delay that was frozen or inferred.  Feasibility: an edit must not make a step shorter than what its
 * busiest stream has to do (the test that finds a missing link).  Homogeneity: the engine itself.  Hold-out: costs of a step
 * are replaced by the medians of the same positions in the other steps.  Spread: two ways to read what is frozen.
 */
#include "graph/check.h"

#include <math.h>
#include <stdio.h>

#include "base/map.h"
#include "base/number.h"
#include "base/sort.h"

enum { FEWEST_STEPS = 3, MOST_STEPS = 64 };

static const struct {
    const char *key, *what, *unit;
    double      green, amber;
} rows[] = {
#define C(id, key, what, unit, green, amber) [HU_CHECK_##id] = {key, what, unit, green, amber},
    HU_CHECKS(C)
#undef C
};

static double off_pct(int64_t replayed_ns, int64_t seen_ns)
{
    return seen_ns > 0 ? 100 * fabs((double)replayed_ns / (double)seen_ns - 1) : 0;
}

/* By the ends that the replay goes by; and where those are the host's marks, by those of the GPU's work too. */
static double worst_step(hu_pricer *p, int64_t *ends)
{
    const hu_graph *g = hu_pricer_graph(p);
    double          worst = 0;

    for (size_t m = 1; m < g->n_marks; m++)
        worst = fmax(worst, off_pct(ends[m] - ends[m - 1], hu_replay_seen_ns(hu_pricer_replay(p), m - 1)));
    if (hu_replay_work_ends(hu_pricer_replay(p), ends))
        for (size_t m = 1; m < g->n_marks; m++)
            worst = fmax(worst, off_pct(ends[m] - ends[m - 1], g->mark[m].end_ns - g->mark[m - 1].end_ns));
    return worst;
}

/* Edits that a sound graph must answer: everything else gone, the device stays; all kernels slower; the host slower. */
static const hu_edit probes[] = {
    {.kind = HU_EDIT_HOST, .factor = INFINITY},
    {.kind = HU_EDIT_KERNEL, .factor = 0.5, .glob = {"*", 1}},
    {.kind = HU_EDIT_KERNEL, .factor = 2, .glob = {"*", 1}},
    {.kind = HU_EDIT_HOST, .factor = 2},
    {.kind = HU_EDIT_SYNC, .factor = INFINITY},
};

static void probe(void *context, hu_pricer *p, size_t i)
{
    hu_price *prices = context;

    hu_price_point(p, &probes[i], 1, &prices[i]);
}

static double count_infeasible(hu_pricers *pricers, double *spread)
{
    hu_price prices[HU_COUNT(probes)];
    double   bad = 0;

    hu_pricers_each(pricers, HU_COUNT(probes), probe, prices);
    *spread = 0;
    for (size_t i = 0; i < HU_COUNT(probes); i++) {
        bad += !prices[i].is_feasible;
        *spread = fmax(*spread, prices[i].spread_pct / fmax(1, fabs(prices[i].gain_pct) / 50));
    }
    return bad;
}

static double homogeneity(hu_pricer *p, int64_t *ends_ns)
{
    const hu_graph *g = hu_pricer_graph(p);
    hu_costs       *c = hu_pricer_costs(p);
    double          doubled;

    c->scale = 2;
    hu_replay_run(hu_pricer_replay(p), c, ends_ns);
    c->scale = 1;
    doubled = hu_replay_step_ns(g, ends_ns);
    return 100 * fabs(doubled / (2 * hu_pricer_step_ns(p)) - 1);
}

/* Of the others that are known (not -1); -1 when none is. */
static int64_t median_but(const int64_t *values, size_t n, size_t left_out)
{
    int64_t others[MOST_STEPS];
    size_t  k = 0;

    for (size_t i = 0; i < n && k < HU_COUNT(others); i++)
        if (i != left_out && values[i] >= 0)
            others[k++] = values[i];
    if (k == 0)
        return -1;
    hu_sort_i64(others, k);
    return k % 2 ? others[k / 2] : (others[k / 2 - 1] + others[k / 2]) / 2;
}

/* The n-th kernel of a name in a step stands for the n-th of that name in the others: group[i], HU_NONE before the steps. */
static bool group_positions(const hu_graph *g, hu_arena *scratch, uint32_t *group, uint32_t *n)
{
    hu_map    place, seen;
    int       step = -1;
    uint32_t *at;

    if (!hu_map_init(&place, scratch, g->n_ops) || !hu_map_init(&seen, scratch, 256))
        return false;
    for (size_t i = 0; i < g->n_ops; i++) {
        const uint32_t name = g->ask->s.name[g->op[i].slice];

        group[i] = HU_NONE;
        if (g->op[i].step < 0)
            continue;
        if (g->op[i].step != step) {
            step = g->op[i].step;
            if (!hu_map_init(&seen, scratch, 256))
                return false;
        }
        at = hu_map_put(&seen, name);
        if (!at)
            return false;
        *at = *at == HU_MAP_NONE ? 0 : *at + 1;
        at = hu_map_put(&place, (uint64_t)name << 32 | *at);
        if (!at)
            return false;
        if (*at == HU_MAP_NONE)
            *at = (*n)++;
        group[i] = *at;
    }
    return true;
}

/* What holding out one step needs; what is found goes to off_pct of that step. */
typedef struct {
    const hu_graph *g;
    const uint32_t *group;
    const int64_t  *costs; /* by group and step; -1: none */
    size_t          n;     /* steps */
    int64_t        *ends;  /* n_marks for each step */
    double         *off_pct;
} held;

static void hold_out_step(void *context, hu_pricer *p, size_t k)
{
    const held     *h = context;
    const hu_graph *g = h->g;
    hu_costs       *c = hu_pricer_costs(p);
    int64_t        *ends = h->ends + k * g->n_marks;
    double          seen, said;

    for (size_t i = 0; i < g->n_ops; i++) {
        const int64_t others = g->op[i].step == (int)k ? median_but(&h->costs[(size_t)h->group[i] * h->n], h->n, k) : -1;

        c->op[i] = others >= 0 ? others : c->op[i];
    }
    hu_replay_run(hu_pricer_replay(p), c, ends);
    seen = (double)hu_replay_seen_ns(hu_pricer_replay(p), k);
    said = (double)(ends[k + 1] - ends[k]);
    h->off_pct[k] = seen > 0 ? 100 * fabs(said / seen - 1) : 0;
}

/* The worst step when the device's costs in it are the medians of the other steps; NaN with too few steps.  False when there
   is no memory. */
static bool hold_out(hu_pricers *pricers, hu_arena *scratch, double *worst)
{
    const hu_graph *g = hu_pricer_graph(hu_pricers_first(pricers));
    const size_t    n = g->n_marks - 1;
    uint32_t       *group, n_groups = 0;
    int64_t        *costs;
    held            h = {.g = g, .n = n};

    *worst = NAN;
    if (n < FEWEST_STEPS || n > MOST_STEPS || g->is_whole || g->n_ops == 0)
        return true;
    group = hu_arena_alloc(scratch, (g->n_ops + 1) * sizeof *group);
    h.ends = hu_arena_alloc(scratch, n * g->n_marks * sizeof *h.ends);
    h.off_pct = hu_arena_alloc(scratch, n * sizeof *h.off_pct);
    if (!group || !h.ends || !h.off_pct || !group_positions(g, scratch, group, &n_groups))
        return false;
    costs = hu_arena_calloc(scratch, (size_t)n_groups * n + 1, sizeof *costs);
    if (!costs)
        return false;
    memset(costs, 0xff, (size_t)n_groups * n * sizeof *costs);
    for (size_t i = 0; i < g->n_ops; i++)
        if (group[i] != HU_NONE)
            costs[(size_t)group[i] * n + (size_t)g->op[i].step] = g->op[i].cost_ns;
    h.group = group;
    h.costs = costs;
    hu_pricers_each(pricers, n, hold_out_step, &h);
    *worst = 0;
    for (size_t k = 0; k < n; k++)
        *worst = fmax(*worst, h.off_pct[k]);
    return true;
}

static hu_grade grade_of(hu_check_id id, double value)
{
    const bool larger_is_better = rows[id].green > rows[id].amber;

    if (isnan(value))
        return HU_GRADE_UNKNOWN;
    if (larger_is_better ? value >= rows[id].green : value <= rows[id].green)
        return HU_GRADE_GREEN;
    return (larger_is_better ? value >= rows[id].amber : value <= rows[id].amber) ? HU_GRADE_AMBER : HU_GRADE_RED;
}

/* Was a check that cannot be made one that this graph needs?  Without GPU work there is nothing that it could find. */
static bool is_missed(const hu_graph *g, hu_check_id id)
{
    const size_t steps = g->n_marks - 1;

    return g->n_ops > 0 && (id != HU_CHECK_HOLD_OUT || g->is_whole || steps < FEWEST_STEPS);
}

int hu_check_measure(hu_pricers *pricers, const hu_path *path, int64_t *ends, hu_arena *scratch, hu_check *out,
                     hu_error *err)
{
    hu_pricer            *p = hu_pricers_first(pricers);
    const hu_graph       *g = hu_pricer_graph(p);
    const hu_calibration *c = &g->calibration;
    double                spread;

    out->value[HU_CHECK_LOCAL] = c->ops ? 100 * (double)c->local / (double)c->ops : NAN;
    out->value[HU_CHECK_GLOBAL] = worst_step(p, ends);
    out->value[HU_CHECK_COVERAGE] = path->total_ns > 0
                                        ? 100 *
                                              (double)(path->by_class[HU_CLASS_FROZEN] + path->by_class[HU_CLASS_INFERRED]) /
                                              (double)path->total_ns
                                        : NAN;
    out->value[HU_CHECK_FEASIBILITY] = count_infeasible(pricers, &spread);
    out->value[HU_CHECK_HOMOGENEITY] = homogeneity(p, ends);
    if (!hold_out(pricers, scratch, &out->value[HU_CHECK_HOLD_OUT]))
        return hu_fail_memory(err);
    out->value[HU_CHECK_SPREAD] = spread;
    out->worst = HU_GRADE_GREEN;
    for (hu_check_id i = 0; i < HU_CHECK_COUNT; i++) {
        hu_grade counts;

        out->grade[i] = grade_of(i, out->value[i]);
        counts = out->grade[i] != HU_GRADE_UNKNOWN ? out->grade[i] : is_missed(g, i) ? HU_GRADE_AMBER : HU_GRADE_GREEN;

        out->worst = counts > out->worst ? counts : out->worst;
    }
    return 0;
}

const char *hu_check_key(hu_check_id id)
{
    return rows[id].key;
}

const char *hu_check_what(hu_check_id id)
{
    return rows[id].what;
}

const char *hu_check_unit(hu_check_id id)
{
    return rows[id].unit;
}

bool hu_check_is_decisive(hu_check_id id)
{
    return id == HU_CHECK_GLOBAL || id == HU_CHECK_COVERAGE || id == HU_CHECK_FEASIBILITY || id == HU_CHECK_HOMOGENEITY;
}

hu_check_words hu_check_say(const hu_check *c, hu_check_id id)
{
    static const struct {
        const char *before, *after; /* the value */
        int         decimals;
    } words[HU_CHECK_COUNT] = {
        [HU_CHECK_LOCAL] = {"the replay explains only", " % of kernel starts within 2 \xc2\xb5s", 1},
        [HU_CHECK_GLOBAL] = {"the replay of the worst step is", " % off", 1},
        [HU_CHECK_COVERAGE] = {"unexplained delays are", " % of the critical path", 1},
        [HU_CHECK_FEASIBILITY] = {"a stream stays busy longer than the step after", " of the edits", 0},
        [HU_CHECK_HOMOGENEITY] = {"with all times doubled the replay is", " % off twice the step", 3},
        [HU_CHECK_HOLD_OUT] = {"a step predicted from the others is", " % off", 1},
        [HU_CHECK_SPREAD] = {"two models of unexplained delays differ by", " points", 1},
    };
    const double   amber = rows[id].amber;
    hu_check_words said;
    char           value[HU_NUMBER_BYTES], limit[HU_NUMBER_BYTES];

    hu_format_fixed(value, c->value[id], words[id].decimals);
    hu_format_fixed(limit, amber, amber == floor(amber) ? 0 : 2);
    if (id == HU_CHECK_LOCAL && strspn(value, "0.") == strlen(value))
        snprintf(said.t, sizeof said.t, "the replay explains no kernel starts within 2 \xc2\xb5s (limit: at least %s)",
                 limit);
    else
        snprintf(said.t, sizeof said.t, "%s %s%s (limit: at %s %s)", words[id].before, value, words[id].after,
                 rows[id].green > amber ? "least" : "most", limit);
    return said;
}

double hu_check_limit(hu_check_id id, hu_grade grade)
{
    return grade == HU_GRADE_GREEN ? rows[id].green : rows[id].amber;
}

const char *hu_grade_name(hu_grade grade)
{
    static const char *const names[] = {"green", "amber", "red", "unknown"};

    return names[grade];
}
