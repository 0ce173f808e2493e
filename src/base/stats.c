/* SPDX-License-Identifier: Apache-2.0
 * stats.c - quantiles as numpy's and pandas' default ("linear"), so that tables agree with theirs. */
#include "base/stats.h"

#include <math.h>

#include "base/sort.h"

double hu_stats_quantile(const int64_t *sorted, size_t n, double q)
{
    double position, below;
    size_t i;

    if (n == 0)
        return (double)NAN;
    position = q * (double)(n - 1);
    below = floor(position);
    i = (size_t)below;
    if (i + 1 >= n)
        return (double)sorted[n - 1];
    return (double)sorted[i] + (position - below) * ((double)sorted[i + 1] - (double)sorted[i]);
}

hu_stats hu_stats_of(int64_t *values, size_t n)
{
    hu_stats s = {.n = n, .mean = (double)NAN, .stddev = (double)NAN};
    double   squares = 0;

    if (n) {
        hu_sort_i64(values, n);
        for (size_t i = 0; i < n; i++)
            s.sum += values[i];
        s.min = values[0];
        s.max = values[n - 1];
        s.mean = (double)s.sum / (double)n;
        for (size_t i = 0; i < n; i++)
            squares += ((double)values[i] - s.mean) * ((double)values[i] - s.mean);
        if (n > 1)
            s.stddev = sqrt(squares / (double)(n - 1));
    }
    s.median = hu_stats_quantile(values, n, 0.5);
    s.p10 = hu_stats_quantile(values, n, 0.1);
    s.p90 = hu_stats_quantile(values, n, 0.9);
    return s;
}

void hu_stats_merge(hu_stats *into, const hu_stats *from)
{
    const double n = (double)into->n, m = (double)from->n, off = from->mean - into->mean;
    double       squares;

    if (from->n == 0)
        return;
    if (into->n == 0) {
        *into = *from;
        return;
    }
    squares = (into->n > 1 ? into->stddev * into->stddev * (n - 1) : 0) +
              (from->n > 1 ? from->stddev * from->stddev * (m - 1) : 0) + off * off * n * m / (n + m);
    into->n += from->n;
    into->sum += from->sum;
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
    into->mean += off * m / (n + m);
    into->stddev = sqrt(squares / (n + m - 1));
    into->median = into->p10 = into->p90 = (double)NAN;
}
