/* SPDX-License-Identifier: Apache-2.0
 * stats.h - order statistics of integer samples. */
#ifndef HU_BASE_STATS_H
#define HU_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t  n;
    int64_t sum, min, max;    /* 0 when n is 0 */
    double  mean, stddev;     /* NaN when n is 0; stddev is the sample's (n - 1), NaN when n is 1 */
    double  median, p10, p90; /* linear interpolation between the closest ranks; NaN when n is 0 */
} hu_stats;

/* Sorts `values` in place and describes them. */
hu_stats hu_stats_of(int64_t *values, size_t n);

/* Two samples as one; order statistics of the whole cannot be told from those of the parts and become NaN. */
void hu_stats_merge(hu_stats *into, const hu_stats *from);

/* The q-quantile (0..1) of sorted values, interpolated linearly; NaN when n is 0. */
double hu_stats_quantile(const int64_t *sorted, size_t n, double q);

#endif
