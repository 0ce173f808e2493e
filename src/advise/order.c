/* SPDX-License-Identifier: Apache-2.0
 * order.c - sorts findings: by the gain that is sure, and a cause before its symptom.
 */
#include <math.h>
#include <stdlib.h>

#include "advise/findings.h"
#include "advise/lone_work.h"

static const double AS_MUCH = 0.95; /* of another's gain: the same for all that a replay can tell */
static const double MOSTLY = 50;    /* percent of the step */

enum { OF_LATE_RANK = HU_RULE_COUNT }; /* as a symptom: any finding of hu_finding.is_of_late_rank */

/* Whose place changes. */
typedef enum {
    SYMPTOM_DOWN, /* behind the last of its causes */
    CAUSE_UP,     /* to the place of the symptom */
} move;

/* Two findings about one time: one row a reason.  Rows of a symptom stand together; symptoms are taken in this order. */
static const struct {
    unsigned symptom; /* a hu_rule, or OF_LATE_RANK */
    hu_rule  cause;
    double   share;       /* of the symptom's gain, that the cause saves at least */
    double   least_sum;   /* percent: both together would save more */
    bool     is_any_sure; /* else the cause is at least as sure as the symptom */
    move     move;
} outranks[] = {
    /* the host is late for one thing, and cheaper launches only make up for it: no reason to capture graphs.  It has a name,
       or is to be recorded first */
    {HU_RULE_LAUNCH_BOUND, HU_RULE_UNRECORDED, AS_MUCH, 0, true, SYMPTOM_DOWN},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_DATA_LOADING, AS_MUCH, 0, false, SYMPTOM_DOWN},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_IO_STALL, AS_MUCH, 0, false, SYMPTOM_DOWN},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_PYTHON_GC, AS_MUCH, 0, false, SYMPTOM_DOWN},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_PIN, AS_MUCH, 0, false, SYMPTOM_DOWN},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_HOST_WORK, AS_MUCH, 0, false, SYMPTOM_DOWN},
    {HU_RULE_LAUNCH_BOUND, HU_RULE_ALLOCATOR, AS_MUCH, 0, false, SYMPTOM_DOWN},
    /* without syncs a late rank would have time: that it is late is why the others wait */
    {HU_RULE_HOST_SYNC, HU_RULE_STRAGGLER, AS_MUCH, 0, false, SYMPTOM_DOWN},
    /* a lock that is held while its holder sleeps: more than all cannot be saved, so it is one time, and the sleep is what
       is under the lock */
    {HU_RULE_SLEEP, HU_RULE_LOCK, 0.5, 100, true, CAUSE_UP},
    /* one rank does what the others do not, and all wait for it: advice for every rank (a loader with workers) is not what
       is asked for, but why this one does it.  That it is late names the rank and what takes it longer */
    {OF_LATE_RANK, HU_RULE_STRAGGLER, AS_MUCH, 0, false, CAUSE_UP},
};

/* Graphs are made for most of what was captured: no step of the job that anything else could be said of is left. */
static bool is_nearly_all(const hu_finding *f)
{
    return f->rule == HU_RULE_CAPTURE && f->low_pct >= MOSTLY;
}

/*
 * What can be counted on: a gain whose interval reaches down to nothing is worth half of a sure one.  A child process that
 * is most of the run comes before small sure gains, however little of it can be divided: it is what there is to look at.
 */
static double rank_of(const hu_finding *f)
{
    if (hu_finding_is_of_capture(f) && !is_nearly_all(f))
        return 0; /* behind all that the job's usual steps pay */
    if (hu_lone_work_is_bound(f))
        return f->high_pct / 2; /* what half of it would save: no less than had it a price */
    if (f->rule == HU_RULE_WAITED_CHILD && !isnan(f->gain_pct))
        return fmax((f->low_pct + f->gain_pct) / 2, f->high_pct / 8);
    if (f->rule == HU_RULE_HOT_CODE) /* half as long would be half of that, if at all */
        return f->high_pct / (f->confidence == HU_CONFIDENCE_LOW ? 16 : 8);
    return isnan(f->gain_pct) ? f->high_pct / 4 : (f->low_pct + f->gain_pct) / 2;
}

static int by_rank(const void *left, const void *right)
{
    const hu_finding *a = left, *b = right;

    if (rank_of(a) != rank_of(b))
        return rank_of(a) > rank_of(b) ? -1 : 1;
    return (a->rule > b->rule) - (a->rule < b->rule);
}

static bool is_symptom(unsigned symptom, const hu_finding *f)
{
    return symptom == OF_LATE_RANK ? f->is_of_late_rank : symptom == f->rule;
}

/* The row by which `cause` comes before `symptom`; HU_COUNT(outranks): none. */
static size_t find_row(unsigned which, const hu_finding *symptom, const hu_finding *cause)
{
    size_t r = 0;

    for (; r < HU_COUNT(outranks); r++)
        if (outranks[r].symptom == which && outranks[r].cause == cause->rule &&
            cause->gain_pct >= outranks[r].share * symptom->gain_pct &&
            cause->gain_pct + symptom->gain_pct > outranks[r].least_sum &&
            (outranks[r].is_any_sure || cause->confidence >= symptom->confidence))
            break;
    return r;
}

/* From place `from` to place `to`; what lies between makes room. */
static void move_to(hu_findings *f, size_t from, size_t to)
{
    const hu_finding x = f->at[from];

    if (from < to)
        memmove(&f->at[from], &f->at[from + 1], (to - from) * sizeof *f->at);
    else
        memmove(&f->at[to + 1], &f->at[to], (from - to) * sizeof *f->at);
    f->at[to] = x;
}

/* Puts the causes of the first finding of a kind before it. */
static void put_causes_first(hu_findings *f, unsigned symptom)
{
    size_t i = 0, last;

    while (i < f->n && !is_symptom(symptom, &f->at[i]))
        i++;
    last = i;
    for (size_t k = i + 1; k < f->n; k++) {
        const size_t row = find_row(symptom, &f->at[i], &f->at[k]);

        if (row == HU_COUNT(outranks))
            continue;
        if (outranks[row].move == CAUSE_UP) {
            move_to(f, k, i);
            return;
        }
        last = k;
    }
    if (last > i)
        move_to(f, i, last);
}

void hu_findings_sort(hu_findings *f)
{
    if (!f || !f->n)
        return;
    qsort(f->at, f->n, sizeof *f->at, by_rank);
    for (size_t r = 0; r < HU_COUNT(outranks); r++)
        if (r == 0 || outranks[r].symptom != outranks[r - 1].symptom)
            put_causes_first(f, outranks[r].symptom);
}
