/* SPDX-License-Identifier: Apache-2.0
 * host_energy.h - energy of processors and memory beside a recording, by their own counters (base/rapl.h).
 *
 * A value that cannot be told is NaN, never 0.
 */
#ifndef HU_ANALYZE_HOST_ENERGY_H
#define HU_ANALYZE_HOST_ENERGY_H

#include "analyze/ask.h"

typedef struct {
    hu_str  name, host;  /* "package-0", "package-0/dram"; of the node, "" unknown */
    int64_t kind;        /* hu_rapl_kind */
    double  joules;      /* from the first sample to the last */
    double  watts;       /* of that time */
    double  step_joules; /* of a mean step */
} hu_energy_zone;

typedef struct {
    hu_energy_zone *at; /* as they were sampled */
    size_t          n;
    int64_t         state; /* hu_rapl_state; -1: nobody looked */
} hu_host_energy;

/* Rows and texts live in the arena of `ask`.  Returns 0 or HU_ENOMEM. */
int hu_host_energy_measure(const hu_ask *ask, hu_host_energy *out, hu_error *err);

/* Adds the zones of another rank whose node has none of that name yet.  Texts are borrowed.  False: no memory. */
bool hu_host_energy_merge(hu_host_energy *into, const hu_host_energy *from, hu_arena *arena);

/* Of packages and of the memory beside them, of all nodes: nothing is in it twice.  NaN where there are none. */
double hu_host_energy_joules(const hu_host_energy *h);
double hu_host_energy_step_joules(const hu_host_energy *h);

/* Is a zone part of these sums? */
bool hu_energy_zone_counts(const hu_energy_zone *z);

#endif
