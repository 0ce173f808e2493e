/* SPDX-License-Identifier: Apache-2.0
 * collectives_run.h - what the parts of a measurement share on one rank. */
#ifndef HU_DOCTOR_COLLECTIVES_RUN_H
#define HU_DOCTOR_COLLECTIVES_RUN_H

#include "doctor/collectives.h"

enum { HU_SAMPLES_MOST = 200, HU_SAMPLES_LEAST = 3 };

typedef struct {
    const hu_mpi_module   *mpi;
    int                    rank, size;
    hu_collectives_options options;
    hu_arena              *arena;
    double                 began_s, now_s; /* now: seconds since then, as all ranks agreed last */
    int64_t                room;           /* bytes of each buffer */
    float                 *in, *out;
    hu_collectives        *c;
} hu_measuring;

double hu_measuring_clock(void); /* seconds */

/*
 * How many calls make a sample: as many as take about 0.2 ms, found by trials of 1, 4, 16 ..., of which the first few
 * may meet a cold cache or another program; so many take at most about 20 ms.  `sample` returns the seconds of so many
 * calls. *sample_s: what a sample took last.
 */
int64_t hu_measuring_calls(double (*sample)(void *context, int64_t calls), void *context, double *sample_s);

/* Seconds that a call of so many bytes will take, by the line through the last two sizes that were measured; 0: none was. */
double hu_measuring_foresee(const hu_series *s, int64_t bytes);

/* Is the median known to 3 %?  Sorts the samples. */
bool hu_measuring_is_enough(double *samples, size_t n);

/* Copies sorted samples of ns into the timing.  False when there is no memory. */
bool hu_measuring_keep(hu_measuring *m, const double *samples, size_t n, int64_t calls, hu_timing *out);

/* All ranks: one size of one collective, in about share_s seconds.  False when there is no memory. */
bool hu_measure_collective(hu_measuring *m, hu_comm_kind kind, double share_s, double foreseen_s, hu_timing *out);

/* All ranks: pairs, then sizes of some of them, until until_s.  Results on rank 0.  False when there is no memory. */
bool hu_measure_pairs(hu_measuring *m, const int64_t *sizes, size_t n_sizes, double until_s);

#endif
