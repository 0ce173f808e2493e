/* SPDX-License-Identifier: Apache-2.0
 * energy_file.h - the file `energy` of a session: counters of processors and memory (base/rapl.h) beside the job.
 *
 * A head, `n` names of HU_RAPL_NAME bytes that end in '\0', then rows in the order of time until the file ends.
 */
#ifndef HU_RECORD_ENERGY_FILE_H
#define HU_RECORD_ENERGY_FILE_H

#include <stdint.h>

#include "base/rapl.h"

#define HU_ENERGY_FILE_MAGIC 0x3159474e45554855ull /* "UHUENGY1" */

typedef struct {
    uint64_t magic;
    uint32_t version, state; /* hu_rapl_state */
    uint32_t n, unused;      /* zones */
    int64_t  period_ns;
} hu_energy_head;

typedef struct {
    int64_t  ns; /* CLOCK_BOOTTIME */
    uint64_t uj; /* only rises */
    uint32_t zone, unused;
} hu_energy_row;

#endif
