/* SPDX-License-Identifier: Apache-2.0
 * verdict.h - the first sentence of a report: what takes the time, as measured, and how far to trust it. */
#ifndef HU_ADVISE_VERDICT_H
#define HU_ADVISE_VERDICT_H

#include "across/roster.h"
#include "across/rendezvous.h"
#include "advise/findings.h"

typedef struct {
    char          text[1024]; /* a few sentences */
    hu_confidence confidence;
    char          reasons[6][160]; /* why it is not high */
    size_t        n_reasons;
    size_t        rank;          /* index of the digest it speaks of: the one with the longest steps */
    bool          is_of_network; /* its first sentence names communication, and nobody whom it waits for */
} hu_verdict;

/*
 * Over `n` ranks of one job, at least one; with what replays say: entries of `all` are NULL where nobody asked.  `r`, of the
 * same ranks, says what of their communication is waiting; NULL: nobody knows.
 */
void hu_verdict_measure(hu_digest *const *digests, hu_findings *const *all, size_t n, const hu_rendezvous *r,
                        hu_verdict *out);

/* Does device work that overlaps nothing else take the steps, so that the verdict says kernels do? */
bool hu_verdict_is_of_kernels(const hu_digest *d);

/* Puts a cause before the first sentence: "CAUSE: exposed communication takes …"; "" changes nothing. */
void hu_verdict_lead(hu_verdict *v, const char *cause);

/* Puts sentences before all others; "" changes nothing. */
void hu_verdict_precede(hu_verdict *v, const char *sentences);

/* What `unread` further inputs, of which nothing is known, take from the confidence; 0 takes nothing. */
void hu_verdict_doubt_unread(hu_verdict *v, size_t unread, size_t n_read);

/* The traces are of more than one run. */
void hu_verdict_doubt_runs(hu_verdict *v, const hu_roster *roster);

/* What a fix makes shorter: "the step", "the run" that was recorded, or "the capture". */
const char *hu_verdict_whole(const hu_digest *d);

/* Which of them takes longest for a step. */
size_t hu_verdict_slowest(hu_digest *const *digests, size_t n);

#endif
