/* SPDX-License-Identifier: Apache-2.0
 * metrics.c - the rows as a table. */
#include "monitor/metrics.h"

#include <string.h>

#include "protocol/live.h"

const hu_metric_row hu_metric_rows[HU_METRIC_COUNT] = {
#define M(id, name, type, unit, labels, help) {name, HU_METRIC_##type, unit, labels, help},
    HU_METRICS(M)
#undef M
};

size_t hu_metric_labels(hu_metric m)
{
    const char *keys = hu_metric_rows[m].labels;
    size_t      n = keys[0] != '\0';

    for (; *keys; keys++)
        n += *keys == ',';
    return n;
}

const char *hu_metric_label(hu_metric m, size_t i, size_t *n)
{
    const char *key = hu_metric_rows[m].labels;

    for (; i > 0; i--)
        key += strcspn(key, ",") + 1;
    *n = strcspn(key, ",");
    return key;
}

/* All histograms are of step times, in the buckets in which the jobs count them. */
const double *hu_metric_limits(hu_metric m, size_t *n)
{
#define U(us) (us) / 1e6,
    static const double limits[] = {HU_LIVE_LIMITS_US(U)};
#undef U

    *n = hu_metric_rows[m].type == HU_METRIC_HISTOGRAM ? sizeof limits / sizeof *limits : 0;
    return limits;
}

hu_metric hu_metric_find(const char *name, size_t n)
{
    for (size_t i = 0; i < HU_METRIC_COUNT; i++)
        if (strlen(hu_metric_rows[i].name) == n && memcmp(hu_metric_rows[i].name, name, n) == 0)
            return (hu_metric)i;
    return HU_METRIC_COUNT;
}
