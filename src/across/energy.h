/* SPDX-License-Identifier: Apache-2.0
 * energy.h - energy of a job: each GPU once, whichever ranks it was sampled beside, and each node's counters once. */
#ifndef HU_ACROSS_ENERGY_H
#define HU_ACROSS_ENERGY_H

#include "analyze/digest.h"

/* Joules; NaN where there is nothing to add, or one of what is added is not known. */
typedef struct {
    double gpu_joules, gpu_step_joules;
    double cpu_joules, cpu_step_joules; /* packages and the memory beside them */
    size_t n_gpus, n_nodes;             /* n_nodes: with such counters */
    bool   is_shared;                   /* a GPU is divided, others work on it, or whose it is is not known */
} hu_job_energy;

/* A GPU without a UUID counts once for each rank. */
hu_job_energy hu_job_energy_measure(hu_digest *const *digests, size_t n);

#endif
