/* SPDX-License-Identifier: Apache-2.0
 * hot_code.c - says where the code computes, for how long, and what is the most that a faster one can save. */
#include "advise/hot_code.h"

#include <math.h>

#include "advise/gates.h"
#include "advise/say_thread.h"
#include "analyze/critical_code.h"
#include "analyze/thread_states.h"

enum { FEWEST_SAMPLES = 20, NAME = 72, MODULE = 32 };

static const double LEAST_SHARE = 0.25; /* of the run without waits for a CPU, for a function to be told */
static const double MOSTLY = 0.5;
static const double ALL_OF_THEM = 0.8;   /* of the samples of threads that run at once */
static const double WORTH_A_WORD = 0.25; /* of its samples */
static const double LEAST_POINTS = 0.5;  /* that are worth an interval */
static const double ERRORS = 2;          /* standard errors, to which the interval reaches */

/* What is explained: all of the main thread's life, or the steps that count. */
static hu_interval window_of(const hu_simulation *s, uint32_t track)
{
    const hu_graph *g = &s->graph;

    return g->is_whole ? hu_thread_life(s->ask.trace, track)
                       : (hu_interval){g->mark[0].host_end_ns, g->mark[g->n_marks - 1].host_end_ns};
}

typedef struct {
    char t[NAME + MODULE + 48];
} said_code;

/* "seal_block (checksum)" */
static said_code say_code(const hu_critical_code *c)
{
    const hu_str name = hu_str_cut(c->name, NAME), module = hu_str_cut(c->module, MODULE);
    said_code    said;

    if (c->kind == HU_CODE_JIT)
        snprintf(said.t, sizeof said.t, "Code that was compiled while the program ran (JIT)");
    else if (c->kind == HU_CODE_PYTHON)
        snprintf(said.t, sizeof said.t, "The Python interpreter (%.*s)", HU_FMT(module));
    else
        snprintf(said.t, sizeof said.t, "%.*s (%.*s)", HU_FMT(name), HU_FMT(c->is_jit ? HU_STR("JIT") : module));
    return said;
}

/* Do other findings tell it: a thread that is waited for, memory that is touched? */
static bool is_told(const hu_critical_code *c, const hu_findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        if ((f->at[i].rule == HU_RULE_WAITED_THREAD || f->at[i].rule == HU_RULE_IMBALANCE) &&
            c->elsewhere >= MOSTLY * c->own)
            return true;
        if (f->at[i].rule == HU_RULE_KERNEL_CALLS && c->kind == HU_CODE_GO && c->inside < MOSTLY * c->own)
            return true;
        if (f->at[i].rule == HU_RULE_PAGE_FAULTS && c->kernel >= MOSTLY * c->own)
            return true;
    }
    return false;
}

typedef struct {
    char t[160];
} said_bound;

/*
 * What faster code could save.  Threads that run at once are waited for together: one of them alone may become faster for
 * nothing, unless all of them are in that function.
 */
static said_bound say_bound(const hu_critical_code *c, double share)
{
    said_bound said;

    if (c->at_once >= WORTH_A_WORD * c->own && c->at_once < ALL_OF_THEM * c->all_at_once)
        snprintf(said.t, sizeof said.t,
                 ", at the same time as other threads in other code: faster alone, it may save nothing, and never more than "
                 "it takes.");
    else
        snprintf(said.t, sizeof said.t,
                 ". Twice as fast, it would save about %s; nothing done to it can save more than it takes.",
                 hu_say_pct(100 * share / 2).t);
    return said;
}

static void say_where(const hu_critical_code *c, hu_hint *h)
{
    const hu_str leaf = hu_str_cut(c->leaf, NAME), module = hu_str_cut(c->leaf_module, MODULE),
                 caller = hu_str_cut(c->caller, NAME);

    if (c->kind != HU_CODE_JIT && c->kind != HU_CODE_PYTHON && c->in_leaf >= WORTH_A_WORD * c->own) {
        if (hu_str_equal(leaf, HU_STR("[kernel]")))
            hu_hint_show(h, "%s of that is inside of the kernel, for it", hu_say_pct(100 * c->in_leaf / c->own).t);
        else if (leaf.n)
            hu_hint_show(h, "%s of that is in %.*s (%.*s), below it", hu_say_pct(100 * c->in_leaf / c->own).t, HU_FMT(leaf),
                         HU_FMT(module));
        else
            hu_hint_show(h, "%s of that is in code of %.*s that has no symbols, below it",
                         hu_say_pct(100 * c->in_leaf / c->own).t, HU_FMT(module));
    }
    if (caller.n && c->kind != HU_CODE_PYTHON && c->from_caller >= MOSTLY * c->own)
        hu_hint_show(h, "%.*s calls it, perhaps through others, in %s of them", HU_FMT(caller),
                     hu_say_pct(100 * c->from_caller / c->own).t);
    if (c->threads > 1 && c->kind == HU_CODE_NATIVE && fmax(c->elsewhere, c->at_once) >= MOSTLY * c->own)
        hu_hint_show(h,
                     "%lld threads are in it: if more of them make it no faster, they may share a cache line or the "
                     "memory's bandwidth, which samples do not show: perf c2c record",
                     (long long)c->threads);
    else if (c->elsewhere >= MOSTLY * c->own)
        hu_hint_show(h, "it runs on %s while the main thread waits", c->threads > 1 ? "other threads" : "another thread");
}

static const char *fix_of(hu_code_kind kind)
{
    switch (kind) {
    case HU_CODE_GO:
        return "a better algorithm, fewer copies and allocations (strings.Builder, make with a capacity); go tool pprof "
               "-list shows the lines";
    case HU_CODE_JIT:
        return "record it with names first: java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "
               "-XX:+DumpPerfMapAtExit (17 or later), node --perf-basic-prof";
    case HU_CODE_PYTHON:
        return "python3 -X perf (3.12 or later) names the function in holdup's samples, py-spy does in older ones; then "
               "numpy, numba or Cython for its loops, processes for independent parts";
    case HU_CODE_NATIVE:
        break;
    }
    return "";
}

bool hu_hot_code_find(hu_simulation *s, const hu_findings *others, hu_finding *out)
{
    const uint32_t   track = hu_graph_main_track(&s->graph);
    hu_hint          h = {.rule = HU_RULE_HOT_CODE};
    hu_critical_code c;
    const char      *window = s->graph.is_whole ? "run" : "steps";
    double           part, error, share, most;

    if (s->graph.n_ops || track == HU_NONE || !hu_critical_code_measure(&s->ask, track, window_of(s, track), &c) ||
        c.window_ns <= 0 || c.taken < FEWEST_SAMPLES || c.own <= 0)
        return false;
    part = c.own / c.samples;
    share = part * fmin(1, c.run_ns / (double)c.window_ns);
    error = ERRORS * 2 * c.error / c.samples * sqrt(part * (1 - part)) * (share / part);
    most = fmin(100 * share / part, 100 * (share + error));
    if (share < LEAST_SHARE * fmax(0, 1 - c.wants_ns / (double)c.window_ns) || is_told(&c, others))
        return false;
    hu_hint_say(&h, "%s%s for %s of the %s (%s)%s", say_code(&c).t,
                c.inside >= MOSTLY * c.own ? " computes" : " and what it calls compute", hu_say_pct(100 * share).t, window,
                hu_say_time(share * (double)c.window_ns).t, say_bound(&c, share).t);
    if (100 * error < LEAST_POINTS)
        hu_hint_show(&h, "%s of %s CPU samples on the critical path", hu_say_count(llround(part * (double)c.taken)).t,
                     hu_say_count(c.taken).t);
    else
        hu_hint_show(&h, "%s of %s CPU samples on the critical path: it takes between %s and %s of the %s",
                     hu_say_count(llround(part * (double)c.taken)).t, hu_say_count(c.taken).t,
                     hu_say_pct(fmax(0, 100 * (share - error))).t, hu_say_pct(most).t, window);
    say_where(&c, &h);
    *out = (hu_finding){.rule = HU_RULE_HOT_CODE,
                        .n_evidence = h.n_evidence,
                        .gain_pct = NAN,
                        .high_pct = most,
                        .free_pct = most,
                        .before_ns = others->replayed_ns,
                        .after_ns = NAN,
                        .edit = {.kind = HU_EDIT_KINDS},
                        .confidence = c.kind == HU_CODE_JIT || c.kind == HU_CODE_PYTHON ? HU_CONFIDENCE_LOW
                                                                                        : HU_CONFIDENCE_MEDIUM};
    memcpy(out->statement, h.statement, sizeof out->statement);
    memcpy(out->evidence, h.evidence, sizeof h.evidence);
    snprintf(out->fix, sizeof out->fix, "%s", fix_of(c.kind));
    return true;
}
