/* SPDX-License-Identifier: Apache-2.0
 * amd_metrics.h - the table that the firmware of AMD's GPUs keeps, as the file `gpu_metrics` of the driver shows it.
 *
 * Layouts and units are those of drivers/gpu/drm/amd/include/kgd_pp_interface.h of Linux (up to 6.16), told apart by the
 * revisions in the table's head.
 */
#ifndef HU_MONITOR_GPUS_AMD_METRICS_H
#define HU_MONITOR_GPUS_AMD_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HU_AMD_METRICS_MOST = 4096 };

/* Why the firmware lowered clocks, of which it counts the time. */
typedef enum {
    HU_AMD_PROCHOT,
    HU_AMD_POWER,
    HU_AMD_THERMAL,
    HU_AMD_VR_THERMAL,
    HU_AMD_MEMORY_THERMAL,
    HU_AMD_RESIDENCIES
} hu_amd_residency;

/* Bits of `throttled`: the driver's groups of 16 bits each. */
enum { HU_AMD_BY_POWER = 1, HU_AMD_BY_CURRENT = 2, HU_AMD_BY_TEMPERATURE = 4, HU_AMD_BY_OTHER = 8 };

/* What is not in the table is NaN, or its has_… false. */
typedef struct {
    double   watts, busy, memory_busy;                 /* ratios from 0 to 1 */
    double   hotspot, memory;                          /* degrees Celsius */
    double   joules;                                   /* of the board, since the driver was loaded */
    double   pcie_lanes, pcie_transfers, pcie_replays; /* transfers per second */
    unsigned throttled;                                /* HU_AMD_BY_… of this moment */
    bool     has_throttled;
    uint32_t ticks, residency[HU_AMD_RESIDENCIES]; /* wrap at 2^32 */
    bool     has_residency;
} hu_amd_metrics;

/* False: no table, or one of a revision (or of a size for it) that is not known. */
bool hu_amd_metrics_decode(const unsigned char *table, size_t n, hu_amd_metrics *out);

#endif
