/* SPDX-License-Identifier: Apache-2.0
 * late_causes.h - stragglers: the ranks that the others wait for, and what those do meanwhile. */
#ifndef HU_ADVISE_LATE_CAUSES_H
#define HU_ADVISE_LATE_CAUSES_H

#include "across/late_ranks.h"
#include "advise/findings.h"

typedef struct {
    hu_late_rank late;
    hu_class     cause;         /* what its critical path holds more of than the others'; HU_CLASS_COUNT: unknown */
    double       cause_step_ns; /* how much more in a step, than the median of the others */
} hu_straggler;

typedef struct {
    hu_straggler at[HU_LATE_RANKS]; /* who is waited for longest, first */
    size_t       n;
    double       wait_step_ns; /* what a rank waits for others in a step, on average over the ranks */
    bool         by_messages;  /* most waiting is for late senders and receivers, on the host */
} hu_stragglers;

/* Of `n` ranks; entries of `all` are NULL where nobody asked for a rank's findings. */
void hu_stragglers_measure(const hu_late_ranks *late, hu_findings *const *all, size_t n, hu_stragglers *out);

/* The same of a rank that is known to cost the others `lost_step_ns`, and to be last in no collective. */
void hu_stragglers_ask(size_t digest, double lost_step_ns, hu_findings *const *all, size_t n, hu_straggler *out);

#endif
