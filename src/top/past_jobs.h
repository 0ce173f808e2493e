/* SPDX-License-Identifier: Apache-2.0
 * past_jobs.h - the power that each job of a node draws, between changes of its energy counter. */
#ifndef HU_TOP_PAST_JOBS_H
#define HU_TOP_PAST_JOBS_H

#include "top/look.h"

typedef struct {
    struct hu_top_past_job *jobs; /* in the order of the last look */
    size_t                  n;
} hu_top_past_jobs;

void hu_top_past_jobs_clear(hu_top_past_jobs *p);

/* False: no memory. */
bool hu_top_past_jobs_take(hu_top_past_jobs *p, const hu_top_look *l);

/* Watts of the job of that number in the look that was taken last; NAN: not known. */
double hu_top_past_jobs_watts(const hu_top_past_jobs *p, size_t job);

#endif
