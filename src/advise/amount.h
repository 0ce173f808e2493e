/* SPDX-License-Identifier: Apache-2.0
 * amount.h - time per step and time in all: two types, so that one cannot be compared with the other or said for it.
 *
 * What a trace's digest sums up, over all of the capture, is in all; what a replay and the means of steps say is per step.
 * hu_spread is the only way from the one to the other, and wants to know over how many steps.
 */
#ifndef HU_ADVISE_AMOUNT_H
#define HU_ADVISE_AMOUNT_H

#include <math.h>

#include "advise/say.h"

typedef struct {
    double ns;
} hu_ns_per_step; /* the mean of some steps; of a capture without steps, the capture */

typedef struct {
    double ns;
} hu_ns_in_all; /* the sum over the whole capture */

static inline hu_ns_per_step hu_as_mean(double step_ns)
{
    return (hu_ns_per_step){step_ns};
}

static inline hu_ns_in_all hu_as_sum(int64_t ns)
{
    return (hu_ns_in_all){(double)ns};
}

/* A sum over `steps` steps, per step; none: the capture is one piece. */
static inline hu_ns_per_step hu_spread(hu_ns_in_all sum, int64_t steps)
{
    return (hu_ns_per_step){sum.ns / (double)(steps > 0 ? steps : 1)};
}

static inline hu_ns_per_step hu_longer(hu_ns_per_step a, hu_ns_per_step b)
{
    return a.ns >= b.ns ? a : b;
}

static inline double hu_amount_pct(double part_ns, double whole_ns)
{
    return whole_ns > 0 ? fmin(100, fmax(0, 100 * part_ns / whole_ns)) : 0;
}

/* Shares in percent, between 0 and 100 whatever the two were taken from. */
static inline double hu_pct_of_step(hu_ns_per_step part, hu_ns_per_step step)
{
    return hu_amount_pct(part.ns, step.ns);
}

static inline bool hu_is_share_of_step(hu_ns_per_step part, double share, hu_ns_per_step step)
{
    return part.ns >= share * step.ns;
}

static inline bool hu_is_share_of_all(hu_ns_in_all part, double share, hu_ns_in_all whole)
{
    return part.ns >= share * whole.ns;
}

typedef struct {
    char t[64];
} hu_said_amount;

/* "24.0 ms in the whole capture" */
static inline hu_said_amount hu_say_in_all(hu_ns_in_all sum)
{
    hu_said_amount s;

    snprintf(s.t, sizeof s.t, "%.24s in the whole capture", hu_say_time(sum.ns).t);
    return s;
}

/* "6.00 ms per step"; where the capture has no steps it is one. */
static inline hu_said_amount hu_say_per_step(hu_ns_per_step mean, bool has_steps)
{
    hu_said_amount s;

    if (!has_steps)
        return hu_say_in_all((hu_ns_in_all){mean.ns});
    snprintf(s.t, sizeof s.t, "%.24s per step", hu_say_time(mean.ns).t);
    return s;
}

/* "6.00 ms per step (60 %)" */
static inline hu_said_amount hu_say_of_step(hu_ns_per_step part, hu_ns_per_step step, bool has_steps)
{
    hu_said_amount s;

    snprintf(s.t, sizeof s.t, "%.46s (%.12s)", hu_say_per_step(part, has_steps).t, hu_say_pct(hu_pct_of_step(part, step)).t);
    return s;
}

#endif
