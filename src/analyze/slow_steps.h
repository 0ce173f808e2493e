/* SPDX-License-Identifier: Apache-2.0
 * slow_steps.h - rare steps that take much longer than the others, and what they do meanwhile. */
#ifndef HU_ANALYZE_SLOW_STEPS_H
#define HU_ANALYZE_SLOW_STEPS_H

#include "analyze/breakdown.h"

typedef enum {
    HU_EXCESS_UNKNOWN, /* nothing recorded accounts for most of the difference */
    HU_EXCESS_RANGE,   /* a range that the user marked */
    HU_EXCESS_COMPUTE, /* GPU work, by the parts of hu_step_time */
    HU_EXCESS_COMM,
    HU_EXCESS_COPY,
    HU_EXCESS_HOST, /* an operator, a call or a Python frame of the main thread */
    HU_EXCESS_COUNT
} hu_excess;

typedef struct {
    size_t    n;                   /* counted steps that stand apart; 0: none, and all below is 0 or empty */
    double    limit_ns;            /* counted steps with a longer period are such */
    int64_t   every;               /* one comes every so many steps; 0: they do not come regularly */
    int64_t   longest;             /* number of the longest */
    double    slow_ns, typical_ns; /* mean period of these, and of all other counted steps */
    double    share;               /* of the time of all counted steps, by which these are longer than the others */
    hu_excess excess;              /* what takes most of slow_ns - typical_ns */
    hu_str    what;                /* its name, of a range or on the host; borrowed from the trace */
    double    what_ns;             /* by how much more it takes in a slow step, mean */
} hu_slow_steps;

/* Is it one of them? */
static inline bool hu_step_is_slow(const hu_slow_steps *slow, const hu_step *s)
{
    return slow->n && hu_step_counts(s) && (double)(s->period.end_ns - s->period.start_ns) > slow->limit_ns;
}

/* Returns 0 or HU_ENOMEM.  `times` are those of ask->steps. */
int hu_slow_steps_find(const hu_ask *ask, const hu_breakdown *times, hu_slow_steps *out, hu_error *err);

const char *hu_excess_name(hu_excess excess); /* "range" */

#endif
