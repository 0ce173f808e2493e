/* SPDX-License-Identifier: Apache-2.0
 * collectives_stats.c - samples to medians with intervals, and sizes to a line with intervals.
 *
 * The interval of a median needs no distribution: the number of samples below the true median is binomial(n, 1/2), so
 * that samples n/2 -+ 0.98 sqrt(n) enclose it in 95 % of all cases; of fewer than six, all of them do in 75 % (three) to
 * 94 % (five). The intervals of the line come from samples drawn again (bootstrap, Efron 1979): they tell the noise, not
 * how well a line describes the library; that is fit.error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/collectives_run.h"

enum { DRAWS = 100, P95_SAMPLES = 20 };

static const double ENOUGH = 0.03, WORST_LINE = 0.15;

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;

    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

void hu_timing_of(double *samples, size_t n, hu_timing *out)
{
    double half;
    size_t low;

    out->samples = (int64_t)n;
    if (n == 0) {
        out->median_ns = out->low_ns = out->high_ns = out->p95_ns = (double)NAN;
        return;
    }
    qsort(samples, n, sizeof *samples, by_value);
    half = floor((double)n / 2 - 0.98 * sqrt((double)n));
    low = n >= HU_INTERVAL_SAMPLES && half > 0 ? (size_t)half - (half >= 1) : 0;
    out->median_ns = quantile(samples, n, 0.5);
    out->p95_ns = n < P95_SAMPLES ? (double)NAN : quantile(samples, n, 0.95);
    out->low_ns = samples[low];
    out->high_ns = samples[n - 1 - low];
}

bool hu_measuring_is_enough(double *samples, size_t n)
{
    hu_timing t;

    if (n < P95_SAMPLES)
        return false;
    hu_timing_of(samples, n, &t);
    return t.high_ns - t.low_ns < ENOUGH * t.median_ns;
}

double hu_measuring_foresee(const hu_series *s, int64_t bytes)
{
    const hu_timing *last = NULL, *before = NULL;
    double           slope;

    for (size_t i = 0; i < s->n; i++) {
        if (!s->at[i].samples)
            continue;
        before = last;
        last = &s->at[i];
    }
    if (!last)
        return 0;
    slope = before ? fmax(0, (last->median_ns - before->median_ns) / (double)(last->bytes - before->bytes))
                   : last->median_ns / (double)last->bytes;
    return 1e-9 * (last->median_ns + slope * (double)(bytes - last->bytes));
}

bool hu_measuring_keep(hu_measuring *m, const double *samples, size_t n, int64_t calls, hu_timing *out)
{
    out->sample_ns = hu_arena_alloc(m->arena, (n + 1) * sizeof *samples);
    if (!out->sample_ns)
        return false;
    memcpy(out->sample_ns, samples, n * sizeof *samples);
    out->calls = calls;
    hu_timing_of(out->sample_ns, n, out);
    return true;
}

/* xorshift64*: the same numbers for the same samples. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

/* The median of as many samples, drawn from them. */
static double median_again(const hu_timing *t, uint64_t *state)
{
    uint16_t     times[HU_SAMPLES_MOST] = {0};
    const size_t n = (size_t)t->samples;
    size_t       below = 0, i = 0;

    for (size_t k = 0; k < n; k++)
        times[draw(state) % n]++;
    while ((below += times[i]) * 2 < n)
        i++;
    return t->sample_ns[i];
}

static size_t points_of(const hu_series *s, uint64_t *state, hu_fit_point *out)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].samples)
            out[n++] = (hu_fit_point){(double)s->at[i].bytes * s->factor,
                                      state ? median_again(&s->at[i], state) : s->at[i].median_ns, 1};
    return n;
}

static double beta_of(const hu_fit *fit)
{
    const double slope = fit->n ? fit->at[fit->n - 1].ns_per_byte : 0;

    return slope > 0 ? 1 / slope : (double)NAN;
}

/* The middle 95 % of what the draws gave; NaN where a tenth of them gave nothing. */
static void enclose(double *values, size_t n, double *low, double *high)
{
    *low = *high = (double)NAN;
    if (n < DRAWS - DRAWS / 10)
        return;
    qsort(values, n, sizeof *values, by_value);
    *low = quantile(values, n, 0.025);
    *high = quantile(values, n, 0.975);
}

bool hu_series_fit(hu_series *s, hu_arena *scratch)
{
    hu_fit_point points[HU_SIZES_MOST];
    double       alphas[DRAWS], betas[DRAWS];
    uint64_t     state = 0x9e3779b97f4a7c15u;
    size_t       n_alphas = 0, n_betas = 0;

    s->alpha_low = s->alpha_high = s->beta_low = s->beta_high = (double)NAN;
    if (!hu_fit_measure(points, points_of(s, NULL, points), scratch, &s->fit))
        return false;
    for (int i = 0; i < DRAWS && s->fit.n; i++) {
        hu_fit again;

        if (!hu_fit_measure(points, points_of(s, &state, points), scratch, &again))
            return false;
        if (again.n == 0)
            continue;
        alphas[n_alphas++] = again.at[0].alpha_ns;
        if (!isnan(beta_of(&again)))
            betas[n_betas++] = beta_of(&again);
    }
    enclose(alphas, n_alphas, &s->alpha_low, &s->alpha_high);
    enclose(betas, n_betas, &s->beta_low, &s->beta_high);
    return true;
}

double hu_timing_alg_gbps(const hu_timing *t)
{
    return t->samples ? (double)t->bytes / t->median_ns : (double)NAN;
}

bool hu_series_has_line(const hu_collectives *c, const hu_series *s)
{
    return s->fit.n && s->fit.error < WORST_LINE && !(c->is_crowded && s->a < 0);
}
