/* SPDX-License-Identifier: Apache-2.0
 * findings.h - what holds a job up, each with a price; the largest first. */
#ifndef HU_ADVISE_FINDINGS_H
#define HU_ADVISE_FINDINGS_H

#include "advise/blind.h"
#include "advise/confidence.h"
#include "advise/rules.h"

typedef struct {
    hu_rule       rule;
    char          statement[HU_STATEMENT_BYTES];
    char          evidence[HU_EVIDENCE + 1][HU_EVIDENCE_BYTES]; /* the last place is for what was measured of its kernels */
    size_t        n_evidence;
    double        gain_pct;            /* of the step's time; NaN when the graph is too poor for a point */
    double        low_pct, high_pct;   /* where it should lie */
    double        free_pct;            /* the upper bound: where the interval ends for the edit as if it cost nothing */
    double        before_ns, after_ns; /* mean simulated step; after is NaN with gain_pct */
    double        least_share;     /* of the gain, what is there even if the trace does not show all of it: 0, 1/2 or 1 */
    uint64_t      cause;           /* the same on all ranks that have it (hu_effect); 0: only this rank prices it */
    bool          is_of_job;       /* only the replay of all ranks shows this gain, not that of the rank alone */
    bool          is_of_late_rank; /* its cause is one that the rank for which all others wait has, and few others */
    hu_confidence confidence;
    hu_edit       edit;              /* that prices it; kind HU_EDIT_KINDS when no edit does */
    char          fix[HU_FIX_BYTES]; /* what to do; "": hu_rule_fix says it */
} hu_finding;

/* Is it the price of the capture, and not of a step that counts (cold_start.h)?  Such a one is ranked last. */
bool hu_finding_is_of_capture(const hu_finding *f);

/* The findings made good one after the other: gains do not add, for each exposes the next limit. */
typedef struct {
    hu_rule rule;
    double  before_ns, after_ns;
} hu_rung;

enum { HU_FINDINGS = HU_RULE_COUNT, HU_PATH_ROWS = 40, HU_SLACK_ROWS = 20 };

typedef struct {
    hu_class class;
    hu_str name;    /* of the operator, call or kernel; "" none */
    double step_ns; /* per step */
    double share;   /* of the critical path */
    double count;   /* pieces per step */
} hu_path_piece;

/* Kernels of one name: what they take, what of it is on the critical path, and how near the others are to it. */
typedef struct {
    hu_str name;
    double step_ns, on_path_ns; /* per step */
    double slack_ns;            /* the least of them: so much longer could it take and delay nothing */
} hu_kernel_slack;

/* All that replays say of one rank; plain, outlives its trace. */
typedef struct hu_findings {
    bool             is_replayed; /* false: nothing could be; the rest is empty */
    char             why_not[200];
    hu_finding       at[HU_FINDINGS]; /* in the order of hu_findings_sort */
    size_t           n;
    hu_finding      *spare; /* nominated, and worth too little here: several ranks that have it may pay more (hu_effect) */
    size_t           n_spare;
    hu_rung          ladder[HU_FINDINGS];
    size_t           n_ladder;
    char             blind[HU_BLIND_BYTES]; /* why finding none would not mean that there is none (hu_blind_of); "" */
    hu_rule          passed[HU_RULE_COUNT]; /* looked at and worth nothing */
    size_t           n_passed;
    hu_check         check;
    bool             is_trusted; /* a point may be given */
    hu_calibration   calibration;
    double           seen_ns, replayed_ns; /* mean step of the window, measured and replayed */
    size_t           n_steps;
    double           covered;                  /* share of the run that was replayed, where there are no steps; else 1 */
    double           by_class[HU_CLASS_COUNT]; /* of the critical path, in ns per step */
    hu_class         classes[HU_CLASS_COUNT];  /* those that are on it, the largest first */
    size_t           n_classes;
    hu_path_piece   *path; /* the largest pieces */
    size_t           n_path;
    hu_kernel_slack *slack; /* of the most expensive kernels */
    size_t           n_slack;
    hu_class         next_class; /* what binds when the whole ladder is climbed; HU_CLASS_COUNT: nothing is left */
    double           next_share; /* of what is left; NaN when nothing is */
    hu_arena        *arena;
} hu_findings;

/*
 * Prices what `d` and the graph of `s` show; `s` is NULL when nothing could be replayed, and `why` then holds the reason.
 * With s->keeps_effects the effects of all that was nominated come into the graph, and `spare` is filled.
 * Free it with hu_findings_free.  NULL when there is no memory.
 */
hu_findings *hu_findings_measure(hu_simulation *s, const hu_error *why, const hu_digest *d, hu_error *err);

/* Is it about communication as one rank sees it?  Of a job, only all ranks together tell what that is worth. */
bool hu_finding_is_of_network(const hu_finding *f);

/* What to do about a finding. */
const char *hu_finding_fix(const hu_finding *f);

typedef struct {
    char t[HU_BLIND_BYTES + 40];
} hu_none_words;

/* What having no finding means, as a sentence without its stop: that nothing is worth a fix, or that it cannot be told. */
hu_none_words hu_findings_none(const hu_findings *f);

/* Ends the ladder below the first rung that is no finding any more: what follows was priced on top of it. */
void hu_findings_cut_ladder(hu_findings *f);

/* Drops general findings where the special one that says why saves about as much. */
void hu_findings_drop_general(hu_findings *f);

/*
 * Puts the largest gain that can be counted on first, the middle between the low end of its interval and the gain; but a
 * cause before what only makes up for it (order.c).  Again when a comparison of ranks has changed intervals.  `f` may be
 * NULL.
 */
void hu_findings_sort(hu_findings *f);

/*
 * Of a trace that is not whole no finding is sure: at most low confidence where the file was cut, medium where more than a
 * few events were lost, and the reason is added to the evidence.  Once for each finding, behind the last that is added.
 */
void hu_findings_doubt(hu_findings *f, const hu_quality *q);

void hu_findings_free(hu_findings *f);

#endif
