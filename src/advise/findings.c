/* SPDX-License-Identifier: Apache-2.0
 * findings.c - gates nominate, replays price, the price ranks.
 *
 * A finding whose gain may be below LEAST_GAIN is dropped.  When the self-check of the graph fails where it matters, no
 * point is given: a range from nothing to the upper bound, and the reason.
 */
#include "advise/findings.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "advise/blind.h"
#include "advise/bubble.h"
#include "advise/cold_start.h"
#include "advise/covered.h"
#include "advise/gates.h"
#include "advise/hot_code.h"
#include "advise/imbalance.h"
#include "advise/ladder.h"
#include "advise/go_found.h"
#include "advise/go_words.h"
#include "advise/lone_work.h"
#include "advise/many_commands.h"
#include "advise/opencl_words.h"
#include "advise/phase_price.h"
#include "advise/say.h"
#include "advise/shared.h"
#include "advise/sleepers.h"
#include "advise/slow_reader.h"
#include "advise/small_pool.h"
#include "advise/throttled.h"
#include "advise/xla_words.h"
#include "base/map.h"

static const double LEAST_GAIN = 1; /* percent of the step */
static const double FEW_LOST = 0.01;
static const double MUCH_MORE = 0.2; /* of a gain, beyond the GPU's idle time */

enum { ENOUGH_STEPS = 3, FEWEST_WAITS = 2 };

static bool is_trusted(const hu_check *c)
{
    for (hu_check_id i = 0; i < HU_CHECK_COUNT; i++)
        if (hu_check_is_decisive(i) && c->grade[i] == HU_GRADE_RED)
            return false;
    return true;
}

const char *hu_finding_fix(const hu_finding *f)
{
    return f->fix[0] ? f->fix : hu_rule_fix(f->rule);
}

bool hu_finding_is_of_network(const hu_finding *f)
{
    return f->rule == HU_RULE_EXPOSED_COMM || f->rule == HU_RULE_POOR_OVERLAP || f->rule == HU_RULE_COMM_LATENCY;
}

hu_none_words hu_findings_none(const hu_findings *f)
{
    hu_none_words said = {"No fix we can simulate saves 1 %"};

    if (!f->is_trusted)
        snprintf(said.t, sizeof said.t, "The gain of a fix cannot be computed from this trace");
    else if (f->blind[0])
        snprintf(said.t, sizeof said.t, "Cannot tell what would save time: %s", f->blind);
    return said;
}

/*
 * Does the gain depend on more than the trace shows: on how much the usual fix leaves over, or on which steps were seen?
 * An interval as wide as the gain says that it does.  What runs a second time goes as a whole, and autograd's own records
 * tell which work that is.
 */
static bool hangs_on_guess(hu_edit_kind kind, const hu_price *p)
{
    static const double LEAST_GUESS =
        0.15; /* of the gain, what a price doubts by itself; a time taken out outright has less */

    return kind == HU_EDIT_KINDS || kind == HU_EDIT_LAUNCH ||
           (hu_price_doubt(kind) >= LEAST_GUESS && kind != HU_EDIT_RECOMPUTE) || p->high_pct - p->low_pct >= p->gain_pct;
}

/* Edits of the device alone: what its operations take, whoever launched them. */
static bool is_of_device(hu_edit_kind kind)
{
    return kind == HU_EDIT_KINDS || kind == HU_EDIT_TENSOR || kind == HU_EDIT_FUSE || kind == HU_EDIT_CLOCK ||
           kind == HU_EDIT_CONTENTION || kind == HU_EDIT_ACCUMULATE || kind == HU_EDIT_COMM || kind == HU_EDIT_BUCKET;
}

static hu_confidence confidence_of(const hu_check *c, const hu_hint *h, const hu_price *p, size_t n_steps)
{
    const bool    sound = c->worst == HU_GRADE_GREEN && n_steps >= ENOUGH_STEPS;
    hu_confidence best = sound ? HU_CONFIDENCE_HIGH : HU_CONFIDENCE_MEDIUM;

    if (!is_trusted(c) || p->spread_pct > hu_check_limit(HU_CHECK_SPREAD, HU_GRADE_AMBER))
        return HU_CONFIDENCE_LOW;
    if (c->grade[HU_CHECK_LOCAL] == HU_GRADE_RED || h->is_suspected || h->is_partial)
        return HU_CONFIDENCE_LOW;
    if (h->may_gain_nothing || h->may_gain_half || hangs_on_guess(hu_rule_edit(h->rule), p))
        best = best > HU_CONFIDENCE_MEDIUM ? HU_CONFIDENCE_MEDIUM : best;
    return h->is_likely && best > HU_CONFIDENCE_MEDIUM ? HU_CONFIDENCE_MEDIUM : best;
}

/* The price of a rule: its edit, or kernels made faster by the factor that the gate found. */
static bool price_rule(hu_pricer *pricer, const hu_hint *h, hu_edit *edit, hu_price *out)
{
    const hu_edit_kind kind = hu_rule_edit(h->rule);

    if (kind != HU_EDIT_KINDS) {
        *edit = (hu_edit){.kind = kind, .flavour = HU_EDIT_REALISTIC, .factor = INFINITY, .glob = h->glob};
        hu_price_named(pricer, kind, h->glob, out);
        edit->factor = out->factor;
        return out->touched > 0;
    }
    *edit = (hu_edit){.kind = HU_EDIT_KERNEL, .flavour = HU_EDIT_REALISTIC, .factor = h->factor, .glob = h->glob};
    if (!(h->factor > 1))
        return false;
    hu_price_edits(pricer, edit, 1, out);
    return out->touched > 0;
}

static hu_finding make_finding(const hu_findings *f, const hu_hint *h, const hu_price *p, const hu_edit *edit)
{
    hu_finding x = {.rule = h->rule,
                    .n_evidence = h->n_evidence,
                    .gain_pct = p->gain_pct,
                    .low_pct = p->low_pct,
                    .high_pct = p->high_pct,
                    .free_pct = p->free_pct,
                    .before_ns = p->before_ns,
                    .after_ns = p->after_ns,
                    .least_share = h->may_gain_nothing ? 0
                                   : h->may_gain_half  ? 0.5
                                                       : 1,
                    .cause = hu_is_shared(h->rule) ? hu_cause_of(h->rule, edit->glob) : 0,
                    .edit = *edit,
                    .confidence = confidence_of(&f->check, h, p, f->n_steps)};

    memcpy(x.statement, h->statement, sizeof x.statement);
    memcpy(x.evidence, h->evidence, sizeof h->evidence);
    assert(!h->fix || strlen(h->fix) < sizeof x.fix); /* half a sentence is no advice */
    snprintf(x.fix, sizeof x.fix, "%s", h->fix ? h->fix : "");
    x.low_pct = fmax(0, x.least_share < 1 ? fmin(x.low_pct, x.least_share * x.gain_pct) : x.low_pct);
    if (!f->is_trusted) {
        x.low_pct = 0;
        x.high_pct = p->free_pct;
        x.gain_pct = x.after_ns = NAN;
    }
    return x;
}

/* A general rule and the special one that says why; where both save about the same, only the special one is told. */
static const struct {
    hu_rule general, special;
} pairs[] = {
    {HU_RULE_EXPOSED_COMM, HU_RULE_COMM_LATENCY},
    {HU_RULE_POOR_OVERLAP, HU_RULE_COMM_LATENCY},
    {HU_RULE_EXPOSED_COMM, HU_RULE_ACCUMULATION},
    {HU_RULE_POOR_OVERLAP, HU_RULE_ACCUMULATION},
    {HU_RULE_COMM_LATENCY, HU_RULE_ACCUMULATION},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_IO_STALL},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_STARVED},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_PROFILER},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_CPU_QUOTA},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_WARM_UP},
    {HU_RULE_HOST_WORK, HU_RULE_PROFILER},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_BLOCKING},
    {HU_RULE_SMALL_OPERATORS, HU_RULE_OPTIMIZER_LOOP},
};

static const double SAME_SHARE = 0.6; /* of the general one's gain */
static const double LEFT_OVER = 0.2;  /* of a gain that had another reason, once that is gone */

static hu_finding *find(hu_findings *f, hu_rule rule)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].rule == rule)
            return &f->at[i];
    return NULL;
}

void hu_findings_drop_general(hu_findings *f)
{
    for (size_t i = 0; i < HU_COUNT(pairs); i++) {
        hu_finding       *general = find(f, pairs[i].general);
        const hu_finding *special = find(f, pairs[i].special);

        if (!general || !special || !(special->gain_pct >= SAME_SHARE * general->gain_pct))
            continue;
        *general = f->at[--f->n];
    }
}

bool hu_finding_is_of_capture(const hu_finding *f)
{
    return f->rule == HU_RULE_CAPTURE || (f->rule == HU_RULE_COLD && f->edit.kind == HU_EDIT_KINDS);
}

void hu_findings_cut_ladder(hu_findings *f)
{
    for (size_t i = 0; i < f->n_ladder; i++)
        if (!find(f, f->ladder[i].rule)) {
            f->n_ladder = i;
            f->next_class = HU_CLASS_COUNT; /* it was what binds behind the last rung */
            f->next_share = NAN;
            return;
        }
}

static bool keep_path(hu_findings *f, const hu_simulation *s)
{
    const hu_path *path = &s->path;
    const double   steps = (double)f->n_steps;

    for (hu_class k = 0; k < HU_CLASS_COUNT; k++) {
        size_t at = f->n_classes;

        f->by_class[k] = (double)path->by_class[k] / steps;
        if (path->by_class[k] == 0)
            continue;
        for (; at && f->by_class[f->classes[at - 1]] < f->by_class[k]; at--)
            f->classes[at] = f->classes[at - 1];
        f->classes[at] = k;
        f->n_classes++;
    }
    f->n_path = path->n < HU_PATH_ROWS ? path->n : HU_PATH_ROWS;
    f->path = hu_arena_calloc(f->arena, f->n_path + 1, sizeof *f->path);
    if (!f->path)
        return false;
    for (size_t i = 0; i < f->n_path; i++) {
        const hu_path_row *row = &path->at[i];

        f->path[i] = (hu_path_piece){.class = (hu_class)row->class,
                                     .step_ns = (double)row->total_ns / steps,
                                     .share = path->total_ns ? (double)row->total_ns / (double)path->total_ns : NAN,
                                     .count = (double)row->count / steps,
                                     .name = hu_arena_copy(f->arena, hu_trace_text(s->ask.trace, row->name))};
        if (!f->path[i].name.p)
            return false;
    }
    return true;
}

typedef struct {
    uint32_t name;
    int64_t  total_ns, slack_ns;
} slack_row;

static int by_time(const void *left, const void *right)
{
    const slack_row *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

/* The dearest names of device work in the window, and how much slack they have. */
static bool keep_slack(hu_findings *f, const hu_simulation *s)
{
    const hu_graph *g = &s->graph;
    const int64_t  *slack = s->slack_ns;
    HU_VEC(slack_row) rows = {0};
    hu_map place;

    if (!hu_map_init(&place, s->scratch, 64))
        return false;
    for (size_t i = 0; i < g->n_ops; i++) {
        uint32_t *at;

        if (g->op[i].step < 0)
            continue;
        at = hu_map_put(&place, s->ask.s.name[g->op[i].slice]);
        if (!at)
            return false;
        if (*at == HU_MAP_NONE) {
            *at = (uint32_t)rows.n;
            if (!hu_vec_push(s->scratch, &rows, ((slack_row){s->ask.s.name[g->op[i].slice], 0, INT64_MAX})))
                return false;
        }
        rows.at[*at].total_ns += g->op[i].cost_ns;
        rows.at[*at].slack_ns = slack[i] < rows.at[*at].slack_ns ? slack[i] : rows.at[*at].slack_ns;
    }
    if (rows.n)
        qsort(rows.at, rows.n, sizeof *rows.at, by_time);
    f->n_slack = rows.n < HU_SLACK_ROWS ? rows.n : HU_SLACK_ROWS;
    f->slack = hu_arena_calloc(f->arena, f->n_slack + 1, sizeof *f->slack);
    if (!f->slack)
        return false;
    for (size_t i = 0; i < f->n_slack; i++) {
        hu_kernel_slack *row = &f->slack[i];

        *row = (hu_kernel_slack){.name = hu_arena_copy(f->arena, hu_trace_text(s->ask.trace, rows.at[i].name)),
                                 .step_ns = (double)rows.at[i].total_ns / (double)f->n_steps,
                                 .slack_ns = (double)rows.at[i].slack_ns};
        if (!row->name.p)
            return false;
        for (size_t k = 0; k < s->path.n; k++)
            if (s->path.at[k].name == rows.at[i].name && s->path.at[k].class >= HU_CLASS_COMPUTE &&
                s->path.at[k].class <= HU_CLASS_COPY)
                row->on_path_ns += (double)s->path.at[k].total_ns / (double)f->n_steps;
    }
    return true;
}

/*
 * The replay may have fewer steps than the means, and be off by a little: a price is a share of the replayed step, and
 * is said of the step that every other place states.
 */
static void say_in_one_step(hu_findings *f, const hu_digest *d)
{
    const double mean = d->steps.source == HU_STEPS_NONE ? NAN : d->steps.duration.mean, scale = mean / f->replayed_ns;

    if (!(scale > 0) || isinf(scale))
        return;
    for (size_t i = 0; i < f->n; i++) {
        f->at[i].before_ns *= scale;
        f->at[i].after_ns *= scale;
    }
    for (size_t i = 0; i < f->n_ladder; i++) {
        f->ladder[i].before_ns *= scale;
        f->ladder[i].after_ns *= scale;
    }
}

/* Edits after which the host only does the same sooner. */
static bool is_sooner(hu_edit_kind kind)
{
    return kind == HU_EDIT_LAUNCH || kind == HU_EDIT_WORK || kind == HU_EDIT_UNRECORDED || kind == HU_EDIT_SYNC;
}

/* Of the replayed steps, in percent, when the GPU runs nothing at all. */
static double idle_pct(const hu_simulation *s)
{
    const hu_graph *g = &s->graph;
    hu_interval     window = {g->mark[0].end_ns, g->mark[g->n_marks - 1].end_ns};
    const double    length = (double)(window.end_ns - window.start_ns);

    return 100 * (1 - (double)hu_intervals_common(&s->ask.busy, &(hu_intervals){.at = &window, .n = 1, .cap = 1}) / length);
}

/*
 * Work that is launched sooner fills the time in which the GPU runs nothing.  More can be gained only if collectives may
 * then run beside kernels, or only waited for ranks that were as late.  Where the trace has no records of which stream waits
 * for which, nobody knows that they may; one that promises much more is a guess.
 */
static void doubt_overlap(const hu_simulation *s, hu_edit_kind kind, hu_hint *h, hu_price *p)
{
    double idle;

    if (!is_sooner(kind) || s->ask.comm.n == 0 || s->graph.calibration.event_links > 0)
        return;
    idle = idle_pct(s);
    if (p->gain_pct - idle <= MUCH_MORE * p->gain_pct)
        return;
    h->is_suspected = true;
    p->low_pct = fmin(p->low_pct, idle);
    hu_hint_show(h,
                 "the GPU runs nothing for %s of the step; more is gained only if communication may overlap kernels, and no "
                 "waits between streams were recorded",
                 hu_say_pct(idle).t);
}

/*
 * What the graph does not show of what else holds the step up.  A faster host would ask a loader's workers for batches
 * sooner: where it waited for them now and then, without a pace that could be replayed, they may not have them.
 */
static void doubt(hu_hint *h, const hu_graph *g, hu_edit_kind kind)
{
    if (hu_blind_to_launches(g) && !is_of_device(kind)) {
        h->is_suspected = h->may_gain_nothing = true;
        h->comes_back = false;
        hu_hint_show(h, "most GPU operations of the replayed time were launched before it: what they waited for is "
                        "not in the trace");
    }
    if (is_sooner(kind) && g->calibration.loader_waits >= FEWEST_WAITS) {
        h->is_suspected = h->may_gain_nothing = true;
        h->comes_back = false;
        hu_hint_show(
            h,
            "the main thread also waits for the data loader's workers, %lld times in these steps: whether they keep "
            "up with a faster host cannot be told; record more steps",
            (long long)g->calibration.loader_waits);
    }
}

/* What only this capture pays: rules, and the step without all of them. */
typedef struct {
    hu_edit at[3];
    size_t  n;
    double  step_ns;
} artefacts;

static artefacts find_artefacts(const hu_scene *scene)
{
    static const hu_rule rules[] = {HU_RULE_PROFILER, HU_RULE_CAPTURE, HU_RULE_COLD};
    artefacts            of = {.n = 0};
    hu_hint              unused;

    for (size_t i = 0; i < HU_COUNT(rules); i++)
        if (hu_rule_gate(rules[i], scene, &unused))
            of.at[of.n++] = (hu_edit){.kind = hu_rule_edit(rules[i]), .flavour = HU_EDIT_REALISTIC, .factor = INFINITY};
    of.step_ns = of.n ? hu_price_step_ns(scene->s->pricer, of.at, of.n) : NAN;
    return of;
}

/*
 * A fix may also hide pauses that the job has only while it is captured: without a sync, the queue covers for the profiler.
 * The job will not see that gain.  So a fix is worth what it saves of a step without such pauses, and the interval moves.
 */
static void leave_out(hu_pricer *pricer, const artefacts *of, const hu_edit *edit, hu_price *p)
{
    hu_edit edits[HU_COUNT(of->at) + 1];
    double  more;

    for (size_t i = 0; i < of->n; i++) {
        if (of->at[i].kind == edit->kind)
            return;
        edits[i] = of->at[i];
    }
    if (of->n == 0)
        return;
    edits[of->n] = *edit;
    more = p->gain_pct - 100 * (of->step_ns - hu_price_step_ns(pricer, edits, of->n + 1)) / p->before_ns;
    if (!(more > 0))
        return;
    p->gain_pct -= more;
    p->sure_pct -= more;
    p->low_pct -= more;
    p->high_pct -= more;
    p->after_ns += more / 100 * p->before_ns;
    hu_price_limit(p->gain_pct, p->free_pct, &p->low_pct, &p->high_pct);
}

/*
 * Behind a full queue the GPU sets the pace, and what it ran in the replayed steps was mostly launched before them: of each
 * kind more or less than a step has.  All recorded work together, of several steps, is another sample of the same.
 */
static void widen(const hu_graph *g, hu_edit_kind kind, hu_hint *h, hu_price *p)
{
    if (!hu_blind_to_launches(g) || !is_of_device(kind) || !(p->work_pct > 0))
        return;
    p->low_pct = fmin(p->low_pct, p->work_pct);
    p->high_pct = fmax(p->high_pct, p->free_work_pct);
    p->free_pct = fmax(p->free_pct, p->high_pct);
    hu_hint_show(h,
                 "most GPU operations were launched before the replayed steps: the interval reaches to the gain in all "
                 "recorded GPU work, %s",
                 hu_say_pct(p->work_pct).t);
}

/* The words of what is worth too little here. */
static bool keep_spare(hu_findings *f, const hu_finding *x)
{
    if (!f->spare)
        f->spare = hu_arena_calloc(f->arena, HU_RULE_COUNT, sizeof *f->spare);
    if (f->spare)
        f->spare[f->n_spare++] = *x;
    return f->spare != NULL;
}

/* What one rule found: a finding, or worth nothing here.  False: no memory. */
static bool take(hu_findings *f, const hu_scene *c, hu_hint *hint, const hu_price *price, const hu_edit *edit)
{
    const bool shares = c->s->keeps_effects && hu_is_shared(hint->rule);
    hu_finding x;

    if (shares && !hu_effect_keep(c->s, hint->rule, edit, price->scatter_pct, true))
        return false;
    x = make_finding(f, hint, price, edit);
    if (hint->is_lone)
        hu_lone_work_limit(&x);
    if ((hint->is_suspected && !hint->comes_back ? price->low_pct : price->sure_pct) < LEAST_GAIN && f->is_trusted) {
        f->passed[f->n_passed++] = hint->rule;
        return !shares || keep_spare(f, &x);
    }
    if (f->n < HU_FINDINGS && price->high_pct >= LEAST_GAIN)
        f->at[f->n++] = x;
    return true;
}

/* Are pauses of which nothing was recorded what cheaper launches make up for?  Without the pauses they gain little then. */
static bool makes_up_for_pauses(hu_simulation *s, const hu_edit *launch, const hu_price *price)
{
    const hu_edit edits[] = {{.kind = HU_EDIT_UNRECORDED, .flavour = HU_EDIT_FREE, .factor = INFINITY}, *launch};
    const double without = hu_price_step_ns(s->pricer, edits, 1), both = hu_price_step_ns(s->pricer, edits, HU_COUNT(edits));

    return 100 * (without - both) < LEFT_OVER * price->gain_pct * price->before_ns;
}

/* What a gate nominated, and what that is worth. */
typedef struct {
    hu_hint  hint;
    hu_edit  edit;
    hu_price price;
    bool     is_priced;
} nominee;

typedef struct {
    nominee         *at; /* by rule */
    const artefacts *only_captured;
    uint16_t         rule[HU_RULE_COUNT]; /* of those that gates nominated */
    size_t           n;
} nominees;

/* Gates write into the scratch of the simulation, so one after the other. */
static bool nominate(const hu_scene *c, nominees *all)
{
    all->at = hu_arena_calloc(c->s->scratch, HU_RULE_COUNT, sizeof *all->at);
    for (hu_rule r = 0; all->at && r < HU_RULE_COUNT; r++)
        if (hu_rule_gate(r, c, &all->at[r].hint))
            all->rule[all->n++] = (uint16_t)r;
    return all->at != NULL;
}

static void price_nominee(void *context, hu_pricer *pricer, size_t i)
{
    nominees *all = context;
    nominee  *x = &all->at[all->rule[i]];

    x->is_priced = price_rule(pricer, &x->hint, &x->edit, &x->price);
    if (x->is_priced)
        leave_out(pricer, all->only_captured, &x->edit, &x->price);
}

/* What each rule found, with what its price leaves open.  False: no memory. */
static bool take_all(hu_findings *f, const hu_scene *c, nominees *all)
{
    hu_simulation *s = c->s;

    for (size_t i = 0; i < all->n; i++) {
        const hu_rule r = (hu_rule)all->rule[i];
        nominee      *x = &all->at[r];

        if (!x->is_priced)
            continue;
        if (r == HU_RULE_SLEEP)
            hu_sleepers_doubt(c, &x->hint, &x->price);
        doubt_overlap(s, x->edit.kind, &x->hint, &x->price);
        widen(&s->graph, x->edit.kind, &x->hint, &x->price);
        if (r == HU_RULE_LAUNCH_BOUND)
            hu_many_commands_widen(c, &x->hint, &x->price);
        doubt(&x->hint, &s->graph, x->edit.kind);
        /* operators on the CPU get faster without the cause, and by how much no replay knows (price.c) */
        x->hint.is_likely |= s->graph.n_ops == 0 && c->d->health.kinds[HU_KIND_CPU_OP] > 0;
        if (r == HU_RULE_LAUNCH_BOUND && makes_up_for_pauses(s, &x->edit, &x->price)) {
            x->hint.is_suspected = true;
            hu_hint_show(&x->hint, "time of which nothing was recorded is all that cheaper launches make up for here");
        }
        if (!take(f, c, &x->hint, &x->price, &x->edit))
            return false;
    }
    return true;
}

/* What rules find, gate by gate. */
static bool ask_rules(hu_findings *f, const hu_scene *c, hu_pricers *pricers)
{
    const artefacts only_captured = find_artefacts(c);
    nominees        all = {.only_captured = &only_captured};

    if (!nominate(c, &all))
        return false;
    hu_pricers_each(pricers, all.n, price_nominee, &all);
    return take_all(f, c, &all);
}

static bool explain(hu_findings *f, const hu_digest *d, hu_simulation *s, hu_pricers *pricers)
{
    const hu_scene scene = {.d = d,
                            .s = s,
                            .step = hu_as_mean(s->graph.step_ns),
                            .n_steps = (int64_t)s->graph.n_marks - 1,
                            .has_steps = !s->graph.is_whole};
    hu_error       unused;

    f->check = s->check;
    f->is_trusted = is_trusted(&s->check);
    f->calibration = s->graph.calibration;
    f->seen_ns = s->graph.step_ns;
    f->replayed_ns = hu_pricer_step_ns(s->pricer);
    f->n_steps = s->graph.n_marks - 1;
    f->next_class = HU_CLASS_COUNT;
    f->next_share = NAN;
    memcpy(f->blind, hu_blind_of(d, &s->graph).t, sizeof f->blind);
    if (!ask_rules(f, &scene, pricers))
        return false;
    if (s->keeps_effects && !hu_effects_keep_work(&scene))
        return false;
    if (f->n < HU_FINDINGS && hu_bubble_find(d, f->replayed_ns, &f->at[f->n]) && f->at[f->n].gain_pct >= LEAST_GAIN)
        f->n++;
    if (f->n < HU_FINDINGS && !find(f, HU_RULE_COLD) && hu_cold_start_find(s, &f->at[f->n]) &&
        f->at[f->n].gain_pct >= LEAST_GAIN)
        f->n++;
    f->n += f->n < HU_FINDINGS && hu_imbalance_find(s, f, &f->at[f->n]);
    hu_small_pool_add(s, f);
    f->n += f->n < HU_FINDINGS && hu_slow_reader_find(s, d, f->replayed_ns, &f->at[f->n]);
    hu_go_found_add(d, f);
    f->n += f->n < HU_FINDINGS && hu_throttled_find(d, f, &f->at[f->n]);
    f->n += f->n < HU_FINDINGS && hu_hot_code_find(s, f, &f->at[f->n]);
    hu_findings_drop_general(f);
    hu_go_doubt(f, d);
    hu_opencl_words(f, d);
    hu_xla_words(f, d);
    hu_findings_sort(f);
    if (hu_ladder_climb(f, s, pricers, LEAST_GAIN, &unused) < 0)
        return false;
    for (size_t i = 0; i < f->n && f->is_trusted && !s->keeps_effects; i++)
        hu_phase_price_say(s, d, &f->at[i]);
    say_in_one_step(f, d);
    hu_covered_spread(f, s->graph.covered);
    /* globs of edits are literals or words of the trace that goes; nobody prices again */
    for (size_t i = 0; i < f->n; i++)
        f->at[i].edit.glob = HU_STR("");
    for (size_t i = 0; i < f->n_spare; i++)
        f->spare[i].edit.glob = HU_STR("");
    return !hu_arena_lacked(s->scratch) && !hu_arena_lacked(s->arena) && keep_path(f, s) && keep_slack(f, s);
}

hu_findings *hu_findings_measure(hu_simulation *s, const hu_error *why, const hu_digest *d, hu_error *err)
{
    hu_arena    *arena = hu_arena_new();
    hu_findings *f = arena ? hu_arena_sparse(arena, sizeof *f) : NULL;
    bool         ok = f && (s || why->code != HU_ENOMEM);

    if (ok) {
        f->arena = arena;
        f->is_replayed = s != NULL;
        if (s)
            ok = explain(f, d, s, s->pricers) && !hu_pricers_lacked(s->pricers);
        else
            snprintf(f->why_not, sizeof f->why_not, "%.190s", why->text);
    }
    if (ok)
        return f;
    hu_arena_free(arena);
    hu_fail_memory(err);
    return NULL;
}

void hu_findings_doubt(hu_findings *f, const hu_quality *q)
{
    const bool          is_thin = (double)hu_quality_lost(q) > FEW_LOST * (double)q->events;
    const hu_confidence most = q->is_truncated ? HU_CONFIDENCE_LOW : HU_CONFIDENCE_MEDIUM;
    char                why[HU_EVIDENCE_BYTES];

    if (!f || (!q->is_truncated && !is_thin))
        return;
    hu_quality_say_partial(q, why, sizeof why);
    for (size_t i = 0; i < f->n; i++) {
        hu_finding *x = &f->at[i];

        if (x->confidence > most)
            x->confidence = most;
        if (x->n_evidence == HU_EVIDENCE)
            x->n_evidence--; /* the reason for the low confidence is worth more than the fourth sign */
        memcpy(x->evidence[x->n_evidence++], why, sizeof why);
    }
}

void hu_findings_free(hu_findings *f)
{
    if (f)
        hu_arena_free(f->arena);
}
