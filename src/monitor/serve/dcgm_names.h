/* SPDX-License-Identifier: Apache-2.0
 * dcgm_names.h - the GPU families once more, with the names, labels and units of dcgm-exporter's defaults, so that
 * dashboards and rules that were written for it work. */
#ifndef HU_MONITOR_SERVE_DCGM_NAMES_H
#define HU_MONITOR_SERVE_DCGM_NAMES_H

#include "monitor/readings.h"
#include "monitor/serve/text.h"

typedef struct {
    const char *name;       /* DCGM's */
    bool        is_counter; /* as dcgm-exporter declares it */
    const char *own;        /* metric of metrics.h */
    const char *where;      /* "key=value" that the series must have; NULL: all series */
    double      factor;     /* from our unit to the exported one */
    const char *help;       /* unit in it, as dcgm-exporter has it */
} hu_dcgm_name;

extern const hu_dcgm_name hu_dcgm_names[]; /* a NULL name ends the table */

/* Is there a DCGM name for the i-th of these rows?  Only for NVIDIA's GPUs, as holdup_gpu_info says. */
bool hu_dcgm_has(const hu_reading *rows, size_t n, size_t i);

/*
 * Families of `rows`, which are sorted by metric, then by labels.  Identity comes from holdup_gpu_info; only NVIDIA's GPUs
 * have DCGM names.  In OpenMetrics their counters are of unknown type, since the names lack `_total`.
 */
void hu_dcgm_write(hu_text *t, const hu_reading *rows, size_t n, bool is_open);

#endif
