/* SPDX-License-Identifier: Apache-2.0
 * energy_series.h - an energy counter that was sampled now and then: what lies between two times, and what it went into.
 *
 * Of a GPU that is NVML's nvmlDeviceGetTotalEnergyConsumption (mJ since the driver was loaded, of the whole board), of
 * processors RAPL (base/rapl.h).  A value that cannot be told is NaN, never 0.
 */
#ifndef HU_ANALYZE_ENERGY_SERIES_H
#define HU_ANALYZE_ENERGY_SERIES_H

#include "analyze/steps.h"
#include "base/interval.h"

typedef struct {
    int64_t ns;
    double  joules; /* a counter's */
} hu_energy_sample;

typedef struct {
    const hu_energy_sample *at; /* by time */
    size_t                  n;
    int64_t                 hold_ns; /* what lies between two samples that are farther apart is not known */
} hu_energy_series;

/* From the first sample to the last; NaN when it began anew in between, as it does when the driver is loaded anew. */
double hu_energy_all(const hu_energy_series *e);

/* The steps that count and whose energy is known. */
typedef struct {
    hu_intervals rows; /* those that follow each other without a gap, together; in the arena that was given */
    double       joules;
    int64_t      n;         /* steps */
    bool         is_enough; /* samples and steps, for a mean: 10 samples, half of the steps that count */
} hu_energy_steps;

/* False: no memory.  steps NULL: there are none. */
bool hu_energy_find_steps(const hu_energy_series *e, const hu_steps *steps, hu_arena *arena, hu_energy_steps *out);

/* Instead of steps: from the first work to the last, as far as it was sampled.  Sets only rows and joules. */
bool hu_energy_find_span(const hu_energy_series *e, const hu_intervals *work, hu_arena *arena, hu_energy_steps *out);

/*
 * What the energy of a device in some time went into.  A counter tells the sum of the time between two of its changes, and
 * not when in it the energy was used; so the energy of idle time and of exposed communication lies between two bounds, which
 * meet where the device did one thing from one change to the next.
 */
typedef struct {
    double ns, joules;          /* of the time that is split up */
    double idle_ns, exposed_ns; /* in which it had no work; in which it communicated and computed nothing */
    double idle_low, idle_high; /* joules */
    double exposed_low, exposed_high;
    double idle_watts; /* the least, of stretches in which it was idle all the time; NaN: there are none */
} hu_energy_use;

extern const hu_energy_use hu_energy_use_unknown;

/*
 * Of a stretch of length T with energy E, of which it is idle for i and in exposed communication for c (seconds), and with
 * the least idle power P that was seen (0: none was):
 *   idle    from min(P i, E i / T)  to  E i / T                      idle, it draws no more than in the mean,
 *   exposed from min(P c, most)     to  most = c (E - low idle) / (T - i)     nor exposed more than in its busy time.
 */
hu_energy_use hu_energy_split(const hu_energy_series *e, const hu_intervals *time, const hu_intervals *work,
                              const hu_intervals *exposed);

#endif
