/* SPDX-License-Identifier: Apache-2.0
 * series.c - no peak is lost: each piece keeps its largest value beside its mean. */
#include "analyze/series.h"

void hu_series_init(hu_series *s, int64_t start_ns, int64_t end_ns)
{
    *s = (hu_series){.start_ns = start_ns};
    if (end_ns > start_ns)
        s->piece_ns = (end_ns - start_ns + HU_SERIES_POINTS - 1) / HU_SERIES_POINTS;
}

void hu_series_add(hu_series *s, int64_t from_ns, int64_t to_ns, double value)
{
    int64_t first, last;

    if (s->piece_ns == 0 || from_ns < s->start_ns)
        return;
    first = (from_ns - s->start_ns) / s->piece_ns;
    last = to_ns > from_ns ? (to_ns - 1 - s->start_ns) / s->piece_ns : first;
    for (int64_t i = first; i <= last && i < HU_SERIES_POINTS; i++) {
        const int64_t start = s->start_ns + i * s->piece_ns, end = start + s->piece_ns;
        const int64_t a = from_ns > start ? from_ns : start, b = to_ns < end ? to_ns : end;

        s->at[i].most = value > s->at[i].most ? value : s->at[i].most;
        s->at[i].area += value * (double)(b > a ? b - a : 0);
    }
}

double hu_series_mean(const hu_series *s, int i)
{
    return s->piece_ns ? s->at[i].area / (double)s->piece_ns : 0;
}
