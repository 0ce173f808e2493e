/* SPDX-License-Identifier: Apache-2.0
 * clocks.h - one clock for all ranks, from the ends of the collectives in which they met. */
#ifndef HU_ACROSS_CLOCKS_H
#define HU_ACROSS_CLOCKS_H

#include "across/meetings.h"

/* What a rank's clock shows less what the reference's shows; at another time than the middle drift_ppm more. */
typedef struct {
    double offset_ns; /* at the middle; NaN: it never meets the reference, nor anybody who does */
    double drift_ppm; /* how much faster it runs; 0 where a constant explains the ends as well */
    double device_ns; /* its device's clock less its host's, where the ends show one; else 0 */
} hu_clock;

typedef struct {
    hu_clock *at; /* by digest */
    size_t    n;
    size_t    reference;   /* whose clock counts */
    size_t    n_hosts;     /* clocks of their own */
    size_t    n_unreached; /* ranks without an offset */
    size_t    n_links;     /* pairs of hosts that were compared */
    size_t    n_drifting;  /* of them by a line */
    int64_t   middle_ns;   /* of the reference's clock */
    size_t    n_ends;      /* ends that were compared */
    double    residual_ns; /* median distance of ends from each other when clocks are corrected; NaN */
    double    worst_ns;    /* the largest */
    double    error_ns;    /* of an offset: what the ends leave open, and how far ways around disagree; NaN */
    double    cycle_ns;    /* how far ways around disagree; NaN: there is one way to each host */
    int64_t   checked;     /* ends that must not come before somebody's start */
    int64_t   violations;  /* and do, by more than HU_CLOCKS_SLACK_NS */
    double    agreement;   /* correlation of waits by these clocks with those without any; NaN */
} hu_clocks;

enum { HU_CLOCKS_SLACK_NS = 5000 };

/* Over what was matched.  False when there is no memory. */
bool hu_clocks_measure(const hu_meetings *m, hu_arena *arena, hu_arena *scratch, hu_clocks *out);

/* A time of a digest's device on the reference's clock; the time itself where its clock is not known. */
int64_t hu_clocks_time(const hu_clocks *c, size_t digest, int64_t time_ns);

#endif
