/* SPDX-License-Identifier: Apache-2.0
 * past_jobs.c - power is the difference of two changes of the counter, by the time between the looks that saw them first.
 *
 * A monitor reads the counter every few periods, so a change is seen up to one look after it was read.  Over LEAST_S that
 * is a tenth at most of what is told; over all that is kept, less than a thirtieth.
 */
#include "top/past_jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds that lie between two changes at least, over which power is told at least, and after which a counter that stands
 * still says nothing any more. */
#define APART_S 5.0
#define LEAST_S 10.0
#define HOLD_S  60.0

enum { CHANGES = 8 };

typedef struct {
    double at_s; /* 0: none */
    double joules;
} change;

typedef struct hu_top_past_job {
    char   scheduler[HU_TOP_WORD], id[HU_TOP_TEXT];
    change at[CHANGES]; /* the last one first */
    double watts;
    bool   is_first; /* the last one is what was found, no change: nobody knows when it was read */
} past_job;

void hu_top_past_jobs_clear(hu_top_past_jobs *p)
{
    free(p->jobs);
    *p = (hu_top_past_jobs){0};
}

static void add_change(past_job *p, double joules, double at_s)
{
    if (isnan(joules) || joules < p->at[0].joules)
        memset(p->at, 0, sizeof p->at);
    if (isnan(joules) || (p->at[0].at_s > 0 && joules == p->at[0].joules))
        return;
    if (p->at[0].at_s > 0 && !p->is_first && (p->at[1].at_s == 0 || p->at[0].at_s - p->at[1].at_s >= APART_S))
        memmove(&p->at[1], &p->at[0], (CHANGES - 1) * sizeof *p->at);
    p->is_first = p->at[0].at_s == 0;
    p->at[0] = (change){at_s, joules};
}

static double watts_of(const past_job *p, double now_s)
{
    int first = CHANGES - 1;

    while (first > 0 && p->at[first].at_s == 0)
        first--;
    if (first == 0 || p->at[0].at_s - p->at[first].at_s < LEAST_S || now_s - p->at[0].at_s > HOLD_S)
        return NAN;
    return (p->at[0].joules - p->at[first].joules) / (p->at[0].at_s - p->at[first].at_s);
}

bool hu_top_past_jobs_take(hu_top_past_jobs *p, const hu_top_look *l)
{
    past_job *all = calloc(l->n_jobs + 1, sizeof *all);

    if (!all)
        return false;
    for (size_t i = 0; i < l->n_jobs; i++) {
        const hu_top_job *j = &l->jobs[i];

        for (size_t k = 0; k < p->n; k++) { /* most often it is where it was */
            const past_job *old = &p->jobs[(i + k) % p->n];

            if (strcmp(old->id, j->id) == 0 && strcmp(old->scheduler, j->scheduler) == 0) {
                all[i] = *old;
                break;
            }
        }
        memcpy(all[i].scheduler, j->scheduler, sizeof j->scheduler);
        memcpy(all[i].id, j->id, sizeof j->id);
        add_change(&all[i], j->energy_j, l->at_s);
        all[i].watts = watts_of(&all[i], l->at_s);
    }
    free(p->jobs);
    p->jobs = all;
    p->n = l->n_jobs;
    return true;
}

double hu_top_past_jobs_watts(const hu_top_past_jobs *p, size_t job)
{
    return job < p->n ? p->jobs[job].watts : NAN;
}
