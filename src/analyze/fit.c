/* SPDX-License-Identifier: Apache-2.0
 * fit.c - a line by least absolute relative errors, so that neither large messages nor outliers have the last word.
 *
 *     minimise over alpha, b >= 0      sum of  w |alpha + b x - t| / t
 *
 * For a slope b the best alpha is a weighted median of t - b x, and the least of a convex function over one of its
 * variables is convex in the other: so b is found by a golden-section search, to the last digits that matter.
 *
 * Libraries change their protocol with the size of a message, and the line then has a kink or a step.  Two lines, one for
 * small and one for large messages, are kept when Bayes' information criterion for errors of Laplace's distribution,
 *
 *     2 n ln(mean error) + k ln n      k = 2 for one line, 5 for two and the size between them
 *
 * is smaller by more than CLEARLY, because the size between them was chosen among many.  A line passes through two of its
 * points, so the mean is over n less two for each line.  An error below LEAST_ERROR is none: nothing is measured better.
 */
#include "analyze/fit.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_POINTS = 64, /* of very many sizes those that count most */
    MOST_SPLITS = 15,
    SEARCHES = 80,  /* each leaves 0.62 of where the slope can be */
    LEAST_HALF = 3, /* points, of which a line has something to say */
};

static const double LEAST_SPREAD = 8, LEAST_HALF_SPREAD = 2, LEAST_ERROR = 0.005, CLEARLY = 6;

typedef struct {
    double value, weight;
} weighted;

static int by_bytes(const void *left, const void *right)
{
    const hu_fit_point *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static int by_value(const void *left, const void *right)
{
    const weighted *a = left, *b = right;

    return (a->value > b->value) - (a->value < b->value);
}

static double weighted_median(weighted *list, size_t n)
{
    double all = 0, below = 0;

    qsort(list, n, sizeof *list, by_value);
    for (size_t i = 0; i < n; i++)
        all += list[i].weight;
    for (size_t i = 0; i < n; i++) {
        below += list[i].weight;
        if (2 * below >= all)
            return list[i].value;
    }
    return list[n - 1].value;
}

static double error_of(const hu_fit_point *p, size_t n, double alpha, double slope)
{
    double sum = 0, weights = 0;

    for (size_t i = 0; i < n; i++) {
        sum += p[i].weight * fabs(alpha + slope * p[i].bytes - p[i].ns) / p[i].ns;
        weights += p[i].weight;
    }
    return sum / weights;
}

/* The best alpha for a slope, and its error. */
static double alpha_for(const hu_fit_point *p, size_t n, double slope, weighted *list, double *error)
{
    double alpha;

    for (size_t i = 0; i < n; i++)
        list[i] = (weighted){p[i].ns - slope * p[i].bytes, p[i].weight / p[i].ns};
    alpha = fmax(0, weighted_median(list, n));
    *error = error_of(p, n, alpha, slope);
    return alpha;
}

/* One line through sorted points; returns its error. */
static double fit_line(const hu_fit_point *p, size_t n, weighted *list, hu_fit_piece *out)
{
    const double golden = 0.6180339887498949;
    double       low = 0, high = 0, left, right, error_left, error_right, error;

    for (size_t i = 0; i < n; i++)
        high = fmax(high, p[i].bytes > 0 ? p[i].ns / p[i].bytes : 0);
    left = high - golden * (high - low);
    right = low + golden * (high - low);
    alpha_for(p, n, left, list, &error_left);
    alpha_for(p, n, right, list, &error_right);
    for (int i = 0; i < SEARCHES; i++) {
        if (error_left <= error_right) {
            high = right;
            right = left;
            error_right = error_left;
            left = high - golden * (high - low);
            alpha_for(p, n, left, list, &error_left);
        } else {
            low = left;
            left = right;
            error_left = error_right;
            right = low + golden * (high - low);
            alpha_for(p, n, right, list, &error_right);
        }
    }
    *out = (hu_fit_piece){.from_bytes = p[0].bytes, .to_bytes = p[n - 1].bytes, .ns_per_byte = (low + high) / 2, .n = n};
    out->alpha_ns = alpha_for(p, n, out->ns_per_byte, list, &error);
    /* what makes less difference than one can measure is not seen */
    if (out->ns_per_byte * out->to_bytes < LEAST_ERROR * out->alpha_ns)
        out->ns_per_byte = 0;
    if (out->alpha_ns < LEAST_ERROR * out->ns_per_byte * out->from_bytes)
        out->alpha_ns = 0;
    return error;
}

static double information(double error, size_t n, size_t lines)
{
    const double all = (double)n, free_ones = all - 2 * (double)lines;

    return 2 * all * log(fmax(error * all / free_ones, LEAST_ERROR)) + (lines == 1 ? 2 : 5) * log(all);
}

/* Two lines where they are worth their parameters. */
static void try_halves(const hu_fit_point *p, size_t n, weighted *list, hu_fit *out)
{
    const size_t splits = n < 2 * LEAST_HALF ? 0 : n - 2 * LEAST_HALF + 1, step = splits / MOST_SPLITS + 1;
    double       best = n > 2 ? information(out->error, n, 1) - CLEARLY : 0, weights = 0;

    for (size_t i = 0; i < n; i++)
        weights += p[i].weight;
    for (size_t at = LEAST_HALF; at < LEAST_HALF + splits; at += step) {
        hu_fit_piece halves[HU_FIT_PIECES];
        double       below = 0, error;

        if (p[at].bytes <= p[at - 1].bytes || p[at - 1].bytes < LEAST_HALF_SPREAD * p[0].bytes ||
            p[n - 1].bytes < LEAST_HALF_SPREAD * p[at].bytes)
            continue;
        for (size_t i = 0; i < at; i++)
            below += p[i].weight;
        error = below * fit_line(p, at, list, &halves[0]);
        error = (error + (weights - below) * fit_line(p + at, n - at, list, &halves[1])) / weights;
        if (information(error, n, 2) >= best)
            continue;
        best = information(error, n, 2);
        memcpy(out->at, halves, sizeof halves);
        out->n = HU_FIT_PIECES;
        out->error = error;
    }
}

/* Of each run of neighbours the point that counts most, to its left where several do. */
static size_t thin(hu_fit_point *p, size_t n)
{
    const size_t step = (n + MOST_POINTS - 1) / MOST_POINTS;
    size_t       kept = 0;

    for (size_t i = 0; i < n; i += step) {
        size_t best = i;

        for (size_t k = i + 1; k < n && k < i + step; k++)
            if (p[k].weight > p[best].weight)
                best = k;
        p[kept++] = p[best];
    }
    return kept;
}

bool hu_fit_measure(hu_fit_point *points, size_t n, hu_arena *scratch, hu_fit *out)
{
    size_t    kept = 0;
    weighted *list;

    *out = (hu_fit){.error = (double)NAN};
    for (size_t i = 0; i < n; i++)
        if (points[i].bytes > 0 && points[i].ns > 0 && points[i].weight > 0)
            points[kept++] = points[i];
    if (kept < 2)
        return true;
    qsort(points, kept, sizeof *points, by_bytes);
    if (points[kept - 1].bytes < LEAST_SPREAD * points[0].bytes)
        return true;
    if (kept > MOST_POINTS)
        kept = thin(points, kept);
    list = hu_arena_alloc(scratch, kept * sizeof *list);
    if (!list)
        return false;
    out->n = 1;
    out->error = fit_line(points, kept, list, &out->at[0]);
    try_halves(points, kept, list, out);
    return true;
}

const hu_fit_piece *hu_fit_piece_at(const hu_fit *fit, double bytes)
{
    if (fit->n == 0)
        return NULL;
    return fit->n == 1 || bytes <= sqrt(fit->at[0].to_bytes * fit->at[1].from_bytes) ? &fit->at[0] : &fit->at[1];
}

double hu_fit_ns(const hu_fit *fit, double bytes)
{
    const hu_fit_piece *p = hu_fit_piece_at(fit, bytes);

    return p ? p->alpha_ns + p->ns_per_byte * bytes : (double)NAN;
}
