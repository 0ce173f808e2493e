/* SPDX-License-Identifier: Apache-2.0
 * metrics.h - every metric that the monitor exports, described once: a row gives name, type, labels and help.
 *
 * Names follow Prometheus: base units, `_total` for counters, ratios from 0 to 1.  Who a GPU belongs to is never a label
 * of its series but a metric of its own (holdup_job_info), to be joined on uuid.
 */
#ifndef HU_MONITOR_METRICS_H
#define HU_MONITOR_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "monitor/metrics_gpu.h"
#include "monitor/metrics_gpu_other.h"
#include "monitor/metrics_host.h"
#include "monitor/metrics_job.h"
#include "monitor/metrics_live.h"
#include "monitor/metrics_self.h"

#define HU_METRICS(M)       \
    HU_METRICS_GPU(M)       \
    HU_METRICS_GPU_OTHER(M) \
    HU_METRICS_HOST(M)      \
    HU_METRICS_JOB(M)       \
    HU_METRICS_LIVE(M)      \
    HU_METRICS_SELF(M)

typedef enum {
#define M(id, name, type, unit, labels, help) HU_METRIC_##id,
    HU_METRICS(M)
#undef M
        HU_METRIC_COUNT
} hu_metric;

typedef enum { HU_METRIC_GAUGE, HU_METRIC_COUNTER, HU_METRIC_INFO, HU_METRIC_HISTOGRAM } hu_metric_type;

enum { HU_METRIC_LABELS_MOST = 16 };

typedef struct {
    const char    *name;
    hu_metric_type type;
    const char    *unit;   /* OpenMetrics' word for it, with which the name ends; "": none */
    const char    *labels; /* keys, comma between */
    const char    *help;   /* one sentence */
} hu_metric_row;

extern const hu_metric_row hu_metric_rows[HU_METRIC_COUNT];

/* How many labels it has, and one of their keys: its length goes to *n. */
size_t      hu_metric_labels(hu_metric m);
const char *hu_metric_label(hu_metric m, size_t i, size_t *n);

/* Upper limits of the buckets of a histogram, rising; the one that holds all is not among them.  None for other types. */
const double *hu_metric_limits(hu_metric m, size_t *n);

/* The one of that name; HU_METRIC_COUNT: there is none. */
hu_metric hu_metric_find(const char *name, size_t n);

#endif
