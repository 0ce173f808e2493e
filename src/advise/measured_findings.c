/* SPDX-License-Identifier: Apache-2.0
 * measured_findings.c - a trace guesses from names, types and sizes what bounds a kernel; hardware counters have
 * measured it.
 *
 * Of each finding the kernels are known, and of those the time that was measured.  What is measured to be another thing
 * in half of that time is no finding any more.  What is measured to be bound by memory or latency may still gain, but
 * not what the units alone would: of that only a bound is left.  What was not measured says nothing, for or against.
 */
#include "advise/measured_findings.h"

#include <math.h>

#include "advise/gates.h"
#include "advise/say.h"
#include "advise/say_thread.h"
#include "base/map.h"

static const double MOST_OF_IT = 0.5; /* of the finding's time: decides about it */
static const double SOME_OF_IT = 0.1; /* makes it a guess */
static const double LEAST_MATRIX_PCT =
    1;                             /* of the peak of the matrix units; below, hardly any instruction was one of theirs */
static const double BUSY_PCT = 60; /* as in analyze/counters.c */
static const double HALF_THE_BYTES = 0.5; /* that fp16 and bf16 move, of those of fp32 */

static const char *const words[] = {
#define R(id, word) word,
    HU_REVISIONS(R)
#undef R
};

const char *hu_revision_word(hu_revision_kind kind)
{
    return words[kind];
}

/* Is it found by what the trace alone guesses of kernels? */
static bool is_of_kernels(hu_rule rule)
{
    return rule == HU_RULE_BANDWIDTH_BOUND || rule == HU_RULE_LOW_EFFICIENCY || rule == HU_RULE_TENSOR_CORES;
}

static const char *const bounds[] = {
    [HU_KERNEL_UNKNOWN] = "bound unknown", [HU_KERNEL_COMPUTE] = "compute-bound",
    [HU_KERNEL_MEMORY] = "memory-bound",   [HU_KERNEL_BOTH] = "bound by compute and memory alike",
    [HU_KERNEL_LATENCY] = "latency-bound", [HU_KERNEL_GRID] = "too few blocks for the GPU",
};

/* What counters say of one kernel, for one finding. */
typedef enum { SAYS_NOTHING, HOLDS, LIMITS, CONTRADICTS } judgement;

typedef struct {
    double    by_bound[HU_KERNEL_GRID + 1];
    double    all, measured, held, limited, contradicted; /* ns in the trace */
    double    left_ns;                                    /* of a step, that could be saved at most */
    size_t    longest;                                    /* the group that stands for most; SIZE_MAX none */
    judgement of_longest;
} tally;

typedef struct {
    const hu_digest  *d;
    const hu_profile *p;
    hu_map            kernel_of; /* a hash of a name -> row of d->kernels */
    const bool       *is_odd;    /* by row of d->kernels: all of it was launched by products of odd sizes */
} revising;

static const hu_kernel *kernel_of(const revising *v, size_t shape)
{
    const hu_str   name = v->p->measured->shapes->at[shape].name;
    const uint32_t row = hu_map_get(&v->kernel_of, hu_hash_bytes(name.p, name.n));

    return row != HU_MAP_NONE && hu_str_equal(v->d->kernels.at[row].name, name) ? &v->d->kernels.at[row] : NULL;
}

/* Is this kernel what the finding is about? */
static bool is_of(const revising *v, hu_rule rule, const hu_kernel *k)
{
    switch (rule) {
    case HU_RULE_BANDWIDTH_BOUND:
        return k->read.family == HU_FAMILY_ELEMENTWISE;
    case HU_RULE_TENSOR_CORES:
        return 2 * k->plain_ns > k->total_ns;
    case HU_RULE_LOW_EFFICIENCY:
        return v->is_odd[k - v->d->kernels.at];
    default:
        return false;
    }
}

static bool is_busy_with_compute(const hu_kernel_answer *a)
{
    return a->bound == HU_KERNEL_COMPUTE || a->bound == HU_KERNEL_BOTH;
}

/* Fusing saves the traffic between kernels, which those that compute do not wait for. */
static judgement judge_fuse(const hu_kernel_answer *a)
{
    if (a->bound == HU_KERNEL_COMPUTE)
        return CONTRADICTS;
    return a->bound == HU_KERNEL_MEMORY || a->bound == HU_KERNEL_BOTH ? HOLDS : SAYS_NOTHING;
}

static judgement judge_tensor(const hu_counted *k, const hu_kernel_answer *a)
{
    if (k->value[HU_COUNTER_MATRIX_PCT] >= LEAST_MATRIX_PCT)
        return CONTRADICTS;
    if (a->bound == HU_KERNEL_MEMORY || a->bound == HU_KERNEL_LATENCY || a->bound == HU_KERNEL_GRID)
        return LIMITS;
    return is_busy_with_compute(a) && !isnan(k->value[HU_COUNTER_MATRIX_PCT]) ? HOLDS : SAYS_NOTHING;
}

/* Padding makes matrix units work, or work better; not the bytes fewer. */
static judgement judge_odd(const hu_counted *k, const hu_kernel_answer *a)
{
    const double matrix = k->value[HU_COUNTER_MATRIX_PCT];

    if (a->bound == HU_KERNEL_MEMORY || matrix >= BUSY_PCT)
        return CONTRADICTS;
    return is_busy_with_compute(a) && matrix < LEAST_MATRIX_PCT ? HOLDS : SAYS_NOTHING;
}

static judgement judge(hu_rule rule, const hu_counted *k, const hu_kernel_answer *a)
{
    return rule == HU_RULE_BANDWIDTH_BOUND ? judge_fuse(a)
           : rule == HU_RULE_TENSOR_CORES  ? judge_tensor(k, a)
                                           : judge_odd(k, a);
}

static const hu_counted *counted_of(const hu_profile *p, size_t group)
{
    return &p->counters->kernels.at[p->measured->groups.at[group].shown];
}

static void add_group(tally *t, hu_rule rule, const hu_profile *p, size_t group)
{
    const hu_measured_kernel *m = &p->measured->at[group];
    const hu_counted         *k = counted_of(p, group);
    const double              ns = (double)m->counted_ns, memory = k->value[HU_COUNTER_MEMORY_PCT];
    hu_kernel_answer          a;
    judgement                 says;

    hu_kernel_judge(k, &a);
    says = judge(rule, k, &a);
    t->measured += ns;
    t->by_bound[a.bound] += ns;
    t->held += says == HOLDS ? ns : 0;
    t->limited += says == LIMITS ? ns : 0;
    t->contradicted += says == CONTRADICTS ? ns : 0;
    if (says == CONTRADICTS)
        t->left_ns -= m->step_ns;
    else if (says == LIMITS && a.bound == HU_KERNEL_MEMORY && memory <= 100)
        t->left_ns -= m->step_ns * HALF_THE_BYTES * memory / 100;
    if (t->longest == SIZE_MAX || m->counted_ns > p->measured->at[t->longest].counted_ns) {
        t->longest = group;
        t->of_longest = says;
    }
}

static void count(const revising *v, hu_rule rule, tally *out)
{
    const hu_measured *m = v->p->measured;

    *out = (tally){.longest = SIZE_MAX};
    for (size_t i = 0; i < m->shapes->n; i++) {
        const hu_kernel *k = kernel_of(v, i);

        if (!k || !is_of(v, rule, k))
            continue;
        out->all += (double)m->shapes->at[i].total_ns;
        out->left_ns += m->steps > 0 ? (double)m->shapes->at[i].steps_ns / (double)m->steps : (double)NAN;
    }
    for (size_t g = 0; g < m->n; g++) {
        const bool       tells = m->at[g].counted_ns > 0 && !m->at[g].is_foreign && m->at[g].order != HU_ORDER_UNKNOWN;
        const hu_kernel *k = tells ? kernel_of(v, m->at[g].shape) : NULL;

        if (k && is_of(v, rule, k))
            add_group(out, rule, v->p, g);
    }
}

/* --- words --- */

static size_t say_bounds(const double by_bound[HU_KERNEL_GRID + 1], double all, char *text, size_t room)
{
    bool   said[HU_KERNEL_GRID + 1] = {false};
    size_t n = 0;

    text[0] = '\0';
    for (;;) {
        size_t most = SIZE_MAX;

        for (size_t b = 0; b <= HU_KERNEL_GRID; b++)
            if (!said[b] && by_bound[b] > 0 && (most == SIZE_MAX || by_bound[b] > by_bound[most]))
                most = b;
        if (most == SIZE_MAX || n + 1 >= room)
            return n;
        said[most] = true;
        n += (size_t)snprintf(text + n, room - n, "%s%s %s", n ? ", " : "", bounds[most],
                              hu_say_pct(hu_amount_pct(by_bound[most], all)).t);
    }
}

size_t hu_say_measured_bounds(const hu_profile *p, char *text, size_t room)
{
    double by_bound[HU_KERNEL_GRID + 1] = {0};

    for (size_t g = 0; g < p->measured->n; g++) {
        hu_kernel_answer a;

        hu_kernel_judge(counted_of(p, g), &a);
        if (!p->measured->at[g].is_foreign)
            by_bound[p->measured->at[g].order == HU_ORDER_UNKNOWN ? HU_KERNEL_UNKNOWN : a.bound] +=
                (double)p->measured->at[g].counted_ns;
    }
    return say_bounds(by_bound, (double)p->measured->all_ns, text, room);
}

/* "; 56 % occupancy, limited by registers; 61 % of a warp's time: long_scoreboard" */
static void say_more(const hu_kernel_answer *a, char *text, size_t room)
{
    const char *limit = a->by_registers  ? "registers"
                        : a->by_shared   ? "shared memory"
                        : a->by_warps    ? "the size of a block"
                        : a->by_blocks   ? "the blocks an SM can hold"
                        : a->by_barriers ? "barriers"
                                         : NULL;
    size_t      n = 0;

    text[0] = '\0';
    if (!isnan(a->achieved_pct))
        n += (size_t)snprintf(text, room, "; occupancy %s%s%s", hu_say_pct(a->achieved_pct).t, limit ? ", limited by " : "",
                              limit ? limit : "");
    if (a->n_stalls && n < room)
        snprintf(text + n, room - n, "; stalls: %s %s", hu_stall_name(a->stalls[0].stall),
                 hu_say_pct(100 * a->stalls[0].share).t);
}

typedef struct {
    char t[HU_EVIDENCE_BYTES];
} line;

/* The kernel that takes most, with what was measured of it. */
static line say_longest(const revising *v, const tally *t)
{
    enum { LABEL = 48 };
    const hu_counted *k = counted_of(v->p, t->longest);
    const hu_kernel  *row = kernel_of(v, v->p->measured->at[t->longest].shape);
    const hu_str      label = hu_str_cut(row->read.label, LABEL);
    char              matrix[HU_UNIT_BYTES + 40] = "", more[96];
    hu_kernel_answer  a;
    line              said;

    hu_kernel_judge(k, &a);
    say_more(&a, more, sizeof more);
    if (!isnan(k->value[HU_COUNTER_MATRIX_PCT]))
        snprintf(matrix, sizeof matrix, ", tensor cores %s", hu_say_pct(k->value[HU_COUNTER_MATRIX_PCT]).t);
    if (a.bound == HU_KERNEL_UNKNOWN)
        snprintf(said.t, sizeof said.t, "ncu, %.*s: speed of light was not recorded%s%s", HU_FMT(label), matrix, more);
    else
        snprintf(said.t, sizeof said.t, "ncu, %.*s: %s%s%s: SM %s, memory %s%s of peak%s", HU_FMT(label), bounds[a.bound],
                 a.level && a.bound == HU_KERNEL_MEMORY ? " by " : "", a.level && a.bound == HU_KERNEL_MEMORY ? a.level : "",
                 hu_say_pct(k->value[HU_COUNTER_SM_PCT]).t, hu_say_pct(k->value[HU_COUNTER_MEMORY_PCT]).t, matrix, more);
    return said;
}

static const char *why_not(hu_rule rule, const revising *v, const tally *t)
{
    switch (rule) {
    case HU_RULE_BANDWIDTH_BOUND:
        return "they compute, and fusing them saves traffic that they do not wait for";
    case HU_RULE_TENSOR_CORES:
        return "tensor cores did work";
    default:
        return counted_of(v->p, t->longest)->value[HU_COUNTER_MATRIX_PCT] >= BUSY_PCT
                   ? "tensor cores are busy"
                   : "they wait for memory, and padding makes the bytes no fewer";
    }
}

/* "Nsight Compute measured 73 % of that time: memory-bound 50 %, compute-bound 23 %" */
static void say_measured(const tally *t, char *text, size_t room)
{
    size_t n = (size_t)snprintf(
        text, room, "Nsight Compute measured %s of that time: ", hu_say_pct(hu_amount_pct(t->measured, t->all)).t);

    if (n < room)
        say_bounds(t->by_bound, t->all, text + n, room - n);
}

static void revise_words(const revising *v, const tally *t, hu_revision *r)
{
    size_t n;

    say_measured(t, r->why, sizeof r->why);
    n = strlen(r->why);
    if (r->contradicted_pct > 0)
        n += (size_t)snprintf(r->why + n, sizeof r->why - n, "; in %s of it %s", hu_say_pct(r->contradicted_pct).t,
                              why_not(r->rule, v, t));
    if (n < sizeof r->why && r->kind == HU_REVISION_CORRECTED && t->limited > 0)
        snprintf(r->why + n, sizeof r->why - n,
                 "; in %s of it tensor cores would wait for the same, so only a bound is given",
                 hu_say_pct(hu_amount_pct(t->limited, t->all)).t);
}

/* --- findings --- */

/* What is left of the gain is a bound: what the kernels could lose at most. */
static void leave_a_bound(hu_finding *x, const tally *t, double step_ns)
{
    const double most = 100 * t->left_ns / step_ns;

    if (isfinite(most))
        x->high_pct = x->free_pct = fmax(0, fmin(most, x->high_pct));
    x->gain_pct = x->after_ns = (double)NAN;
    x->low_pct = 0;
    x->confidence = HU_CONFIDENCE_LOW;
}

static void add_words(hu_finding *x, const char *why, const char *longest)
{
    const size_t n = strlen(x->statement);

    if (n + strlen(why) + 3 < sizeof x->statement)
        snprintf(x->statement + n, sizeof x->statement - n, " %s.", why);
    if (x->n_evidence < HU_COUNT(x->evidence))
        snprintf(x->evidence[x->n_evidence++], HU_EVIDENCE_BYTES, "%s", longest);
}

static hu_revision_kind decide(const tally *t)
{
    if (t->contradicted >= MOST_OF_IT * t->all)
        return HU_REVISION_WITHDRAWN;
    if (t->contradicted + t->limited >= SOME_OF_IT * t->all)
        return HU_REVISION_CORRECTED;
    return t->held >= MOST_OF_IT * t->all ? HU_REVISION_CONFIRMED : HU_REVISION_SHOWN;
}

/* Returns whether the finding stays. */
static bool revise(const revising *v, hu_finding *x, hu_revisions *out)
{
    tally        t;
    hu_revision *r = &out->at[out->n];

    count(v, x->rule, &t);
    if (t.longest == SIZE_MAX || !(t.all > 0) || out->n == HU_COUNT(out->at))
        return true;
    *r = (hu_revision){.rule = x->rule,
                       .kind = decide(&t),
                       .measured_pct = hu_amount_pct(t.measured, t.all),
                       .contradicted_pct = hu_amount_pct(t.contradicted, t.all)};
    out->n++;
    revise_words(v, &t, r);
    if (r->kind == HU_REVISION_WITHDRAWN)
        return false;
    if (r->kind == HU_REVISION_CORRECTED && t.limited > 0)
        leave_a_bound(x, &t, v->p->measured->step_ns);
    else if (r->kind == HU_REVISION_CORRECTED) {
        x->confidence = HU_CONFIDENCE_LOW;
        x->low_pct = 0;
    }
    add_words(x, r->why, say_longest(v, &t).t);
    return true;
}

/* Kernels of operators that had no other sizes than odd ones: of an operator with both nobody knows which is whose. */
static bool *find_odd(const hu_digest *d, hu_arena *arena)
{
    const hu_roofline   *r = &d->roofline;
    const hu_op_kernels *of = &d->op_kernels;
    bool                *is_odd = hu_arena_calloc(arena, d->kernels.n + 1, sizeof *is_odd);
    int64_t             *odd_ns = hu_arena_calloc(arena, d->kernels.n + 1, sizeof *odd_ns);
    hu_map               odd_op, even_op, kernel;

    if (!is_odd || !odd_ns || !hu_map_init(&odd_op, arena, 16) || !hu_map_init(&even_op, arena, 16) ||
        !hu_map_init(&kernel, arena, d->kernels.n))
        return NULL;
    for (size_t i = 0; i < r->n; i++) {
        uint32_t *place = hu_map_put(hu_roofline_op_is_odd(&r->at[i]) ? &odd_op : &even_op,
                                     hu_hash_bytes(r->at[i].op.p, r->at[i].op.n));

        if (!place)
            return NULL;
        *place = 1;
    }
    for (size_t i = 0; i < d->kernels.n; i++) {
        uint32_t *place = hu_map_put(&kernel, hu_hash_bytes(d->kernels.at[i].name.p, d->kernels.at[i].name.n));

        if (!place)
            return NULL;
        *place = (uint32_t)i;
    }
    for (size_t i = 0; i < of->n; i++) {
        const uint64_t op = hu_hash_bytes(of->at[i].op.p, of->at[i].op.n);
        const uint32_t row = hu_map_get(&kernel, hu_hash_bytes(of->at[i].kernel.p, of->at[i].kernel.n));

        if (row != HU_MAP_NONE && hu_map_get(&odd_op, op) != HU_MAP_NONE && hu_map_get(&even_op, op) == HU_MAP_NONE)
            odd_ns[row] += of->at[i].total_ns;
    }
    for (size_t i = 0; i < d->kernels.n; i++)
        is_odd[i] = odd_ns[i] > 0 && odd_ns[i] >= d->kernels.at[i].total_ns;
    return is_odd;
}

int hu_findings_revise(hu_findings *f, const hu_digest *d, const hu_profile *p, hu_revisions *out, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    revising  v = {.d = d, .p = p};
    size_t    kept = 0;
    int       rc = 0;

    *out = (hu_revisions){0};
    v.is_odd = scratch ? find_odd(d, scratch) : NULL;
    if (!v.is_odd || !hu_map_init(&v.kernel_of, scratch, d->kernels.n))
        rc = hu_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < d->kernels.n; i++) {
        uint32_t *place = hu_map_put(&v.kernel_of, hu_hash_bytes(d->kernels.at[i].name.p, d->kernels.at[i].name.n));

        if (place)
            *place = (uint32_t)i;
        else
            rc = hu_fail_memory(err);
    }
    for (size_t i = 0; rc == 0 && f && i < f->n; i++)
        if (!is_of_kernels(f->at[i].rule) || revise(&v, &f->at[i], out)) {
            if (kept != i)
                f->at[kept] = f->at[i];
            kept++;
        }
    hu_arena_free(scratch);
    if (rc < 0 || !f)
        return rc;
    f->n = kept;
    hu_findings_cut_ladder(f);
    hu_findings_sort(f);
    return 0;
}
