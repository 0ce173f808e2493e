/* SPDX-License-Identifier: Apache-2.0
 * price.h - what an edit would bring: a simulated step before and after, and an interval. */
#ifndef HU_GRAPH_PRICE_H
#define HU_GRAPH_PRICE_H

#include "graph/edit.h"

enum { HU_PRICE_EDITS = 32 }; /* that are priced together at most */

typedef struct {
    double before_ns, after_ns;         /* mean step, both simulated; after: the realistic flavour */
    double free_ns;                     /* after, as if it cost nothing */
    double gain_pct, low_pct, high_pct; /* 100 (1 - after / before), and where the truth should lie: low <= gain <= high */
    double free_pct;                    /* the most that can be gained: gain_pct and high_pct lie below (docs/whatif.md) */
    double sure_pct;                    /* low_pct without the scatter of the steps: what these steps would have gained */
    double scatter_pct;                 /* what the steps' scatter adds to half of the interval */
    double work_pct, free_work_pct;     /* share of all GPU work of the graph, of whatever step, that the edits take away */
    double spread_pct;                  /* difference between the two anchors, in points */
    double factor;                      /* of the realistic flavour */
    size_t touched;                     /* nodes and operations that the edit changed */
    bool   is_feasible;                 /* no stream and no thread is busy for longer than the step */
} hu_price;

/* Not everything fits into a graph, not all work can go: half of it may stay, and the interval reaches down to that. */
bool hu_price_may_keep_half(hu_edit_kind kind);

/* A graph with all that its replays need; one thread at a time. */
typedef struct hu_pricer hu_pricer;

/* Lives in `arena`; `tensor_factor` as for hu_edit_facts_new.  NULL when there is no memory. */
hu_pricer *hu_pricer_new(const hu_graph *g, double tensor_factor, hu_arena *arena);

/*
 * Another one of the same graph, for another thread: what they share, neither changes.  Lives in `arena`, no longer than the
 * one that it comes from.  NULL when there is no memory.
 */
hu_pricer *hu_pricer_fork(const hu_pricer *p, hu_arena *arena);

/* What another one of the same graph has replayed need not be replayed again. */
void hu_pricer_learn(hu_pricer *p, const hu_pricer *from);

/* Prices edits that are made together, HU_PRICE_EDITS at most: the step with and without them, an interval, and what limits
   it. */
void hu_price_edits(hu_pricer *p, const hu_edit *edits, size_t n, hu_price *out);

/* The same without an interval, for less than half of the time: before_ns, after_ns, gain_pct, spread_pct, touched and
   is_feasible; the rest is 0. */
void hu_price_point(hu_pricer *p, const hu_edit *edits, size_t n, hu_price *out);

/*
 * Does work that was launched before the capture fill the queue, so that the host of the window waits for that?  What such
 * work is of is not known, so edits of what an operator launches are priced by the work that was launched in the window.
 */
bool hu_pricer_is_backlogged(const hu_pricer *p);

/* The ends of the steps with some edits made, n_marks of them; until the next price is asked for. */
const int64_t *hu_price_ends_ns(hu_pricer *p, const hu_edit *edits, size_t n);

/* The mean simulated step with some edits made, in ns; none: as it was.  No interval, and half the work; none where the same
   edits were replayed before. */
double hu_price_step_ns(hu_pricer *p, const hu_edit *edits, size_t n);

/*
 * Keeps an interval within what is possible: low <= gain <= high <= `most_pct`, and what gains does not become a loss.  A
 * gain that is larger than the limit itself, by what a replay is off, is its own limit.
 */
void hu_price_limit(double gain_pct, double most_pct, double *low_pct, double *high_pct);

/*
 * Half the width, in points, of the gain's interval over resampled steps, 5 % of which lie beyond on each side: other steps
 * of the job would have gained so much more or less.  Ends of n steps, before the first of which before[0] and after[0] lie.
 */
double hu_price_scatter(const int64_t *before, const int64_t *after, size_t n);

/* The same edits as if they cost nothing: out[0..n).  A glob's factor is the question itself, and stays.  True: they
   differ. */
bool hu_price_free(const hu_edit *edits, size_t n, hu_edit *out);

/* The share of a gain that its interval is at least wide of, to each side: what no check sees. */
double hu_price_doubt(hu_edit_kind kind);

/* One edit as the usual fix (its realistic flavour) with the bound of the free one. */
void hu_price_kind(hu_pricer *p, hu_edit_kind kind, hu_price *out);

/* The same of an edit that has a name (hu_edit_has_name). */
void hu_price_named(hu_pricer *p, hu_edit_kind kind, hu_str name, hu_price *out);

/* The mean simulated step as it was, in ns; and the ends of the steps, n_marks of them. */
double         hu_pricer_step_ns(const hu_pricer *p);
const int64_t *hu_pricer_ends_ns(const hu_pricer *p);

const hu_graph      *hu_pricer_graph(const hu_pricer *p);
const hu_edit_facts *hu_pricer_facts(const hu_pricer *p);
hu_replay           *hu_pricer_replay(hu_pricer *p);
hu_costs            *hu_pricer_costs(hu_pricer *p); /* as they were, when it returns */

#endif
