/* SPDX-License-Identifier: Apache-2.0
 * energy_sampler.h - looks at the energy counters of processors and memory while a job runs; the supervisor does.
 *
 * A look is a read of a small file for each zone, and costs the job nothing but a short interrupt of one CPU of a package.
 */
#ifndef HU_RECORD_ENERGY_SAMPLER_H
#define HU_RECORD_ENERGY_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rapl.h"

typedef struct hu_energy_sampler hu_energy_sampler;

typedef struct {
    const char *folder;    /* of tests; NULL: HU_RAPL_FOLDER */
    unsigned    hz;        /* 0: nobody looks */
    uint64_t    max_bytes; /* of the file; 0: no limit */
} hu_energy_options;

/* Writes the file of the session and looks once.  NULL: it was not asked for, or there is no memory or no disk. */
hu_energy_sampler *hu_energy_start(const hu_energy_options *options, const char *session);

/* Looks when it is time to; call it often.  NULL is fine. */
void hu_energy_round(hu_energy_sampler *s, int64_t now_ns);

/* Looks once more, closes and frees; returns what the machine told at the beginning. */
hu_rapl_state hu_energy_stop(hu_energy_sampler *s);

#endif
