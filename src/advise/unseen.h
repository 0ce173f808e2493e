/* SPDX-License-Identifier: Apache-2.0
 * unseen.h - findings that hang on what ranks do which nobody replayed. */
#ifndef HU_ADVISE_UNSEEN_H
#define HU_ADVISE_UNSEEN_H

#include "advise/findings.h"

/* Why other ranks are not known, and what to do about it, as the end of a sentence. */
typedef enum {
    HU_UNSEEN_ALONE,     /* one trace was given */
    HU_UNSEEN_MISSING,   /* several, but not of all who communicate */
    HU_UNSEEN_UNMATCHED, /* most communication could not be matched across ranks */
    HU_UNSEEN_APART,     /* the ranks were not replayed together */
} hu_unseen;

/*
 * Communication may be waiting for one of these ranks, and whoever is faster then only waits longer.  Findings of
 * communication become guesses that may gain nothing; so do those that would save no more than `comm_pct` of the step,
 * which is what communication takes of the critical path; 100: all of them.  `f` may be NULL.
 */
void hu_findings_doubt_unseen(hu_findings *f, double comm_pct, hu_unseen why);

/* What communication takes of the critical path of one rank's own replay, in percent of its step. */
double hu_findings_comm_pct(const hu_findings *f);

#endif
