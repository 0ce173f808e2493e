/* SPDX-License-Identifier: Apache-2.0
 * series.h - a quantity over time in equal pieces, small enough to print and to draw. */
#ifndef HU_ANALYZE_SERIES_H
#define HU_ANALYZE_SERIES_H

#include <stdint.h>

enum { HU_SERIES_POINTS = 200 };

/* One piece of time: the largest value in it, and the mean over it. */
typedef struct {
    double most, area; /* area = mean * length in ns */
} hu_point;

typedef struct {
    int64_t  start_ns, piece_ns; /* every piece is as long; piece_ns 0: there is no series */
    hu_point at[HU_SERIES_POINTS];
} hu_series;

/* Pieces that cover [start, end). */
void hu_series_init(hu_series *s, int64_t start_ns, int64_t end_ns);

/* The quantity was `value` from `from` to `to`; pieces of one quantity must not overlap, unless they add up. */
void hu_series_add(hu_series *s, int64_t from_ns, int64_t to_ns, double value);

/* The mean of piece i. */
double hu_series_mean(const hu_series *s, int i);

#endif
