/* SPDX-License-Identifier: Apache-2.0
 * nvml_gpm.c - pairs of samples; a share above 1 or below 0 is none. */
#include "gpu/nvml_gpm.h"

#include <math.h>
#include <time.h>

#include "gpu/nvml_calls.h"

enum { OLDEST_NS = 600 }; /* seconds: a pair that far apart says nothing of now */

static const struct {
    uint32_t number;
    double   unit;
} known[] = {
#define G(id, number, unit) {number, unit},
    HU_NVML_GPM_VALUES(G)
#undef G
};
_Static_assert((int)HU_NVML_GPM_COUNT <= (int)PERFORMANCE_MOST, "all in one call");

static int64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool is_supported(const hu_nvml *n, const hu_nvml_device *d, int *code)
{
    performance_support s = {.version = 1};

    *code = NOT_SUPPORTED;
    if (!n->performance || !n->new_sample || !n->free_sample || !n->get_sample || !n->compare)
        return false;
    *code = n->performance(d->handle, &s);
    if (*code == SUCCESS && !s.is_supported)
        *code = NOT_SUPPORTED;
    return *code == SUCCESS;
}

static int take(const hu_nvml *n, const hu_nvml_device *d, int gpu_instance, void *sample)
{
    if (gpu_instance < 0)
        return n->get_sample(d->handle, sample);
    return n->get_mig_sample ? n->get_mig_sample(d->handle, (unsigned)gpu_instance, sample) : FUNCTION_NOT_FOUND;
}

static int compare(const hu_nvml *n, hu_nvml_gpm *g)
{
    performance_values v = {.version = 1, .n = HU_NVML_GPM_COUNT, .before = g->sample[0], .after = g->sample[1]};
    int                rc;

    for (unsigned i = 0; i < HU_NVML_GPM_COUNT; i++) {
        v.row[i].id = known[i].number;
        v.row[i].code = UNKNOWN;
    }
    rc = n->compare(&v);
    for (unsigned i = 0; rc == SUCCESS && i < HU_NVML_GPM_COUNT; i++) {
        const double value = v.row[i].value * known[i].unit;

        if (v.row[i].code != SUCCESS || !isfinite(value) || value < 0 || (known[i].unit < 1 && value > 1))
            continue;
        g->has |= 1u << i;
        g->value[i] = value;
    }
    return rc;
}

hu_nvml_class hu_nvml_gpm_look(hu_nvml *n, const hu_nvml_device *d, int gpu_instance, hu_nvml_gpm *g, int64_t now_ns,
                               int *code)
{
    const int64_t age = now_ns - g->at_ns;
    void         *oldest;

    *code = SUCCESS;
    if (g->is_denied)
        return HU_NVML_NEVER;
    if (g->at_ns && age < HU_NVML_GPM_LEAST_NS)
        return HU_NVML_OK;
    g->has = 0;
    if (!g->sample[0]) {
        if (!is_supported(n, d, code) || n->new_sample(&g->sample[0]) != SUCCESS ||
            n->new_sample(&g->sample[1]) != SUCCESS) {
            const hu_nvml_class class = hu_nvml_class_of(*code);

            hu_nvml_gpm_close(n, g);
            g->is_denied = class == HU_NVML_NEVER || class == HU_NVML_OK; /* OK: there is no memory for samples */
            return g->is_denied ? HU_NVML_NEVER : class;
        }
    }
    oldest = g->sample[0];
    *code = take(n, d, gpu_instance, oldest);
    if (*code != SUCCESS) {
        g->at_ns = 0; /* what was overwritten is no sample */
        g->is_denied = hu_nvml_class_of(*code) == HU_NVML_NEVER;
        return hu_nvml_class_of(*code);
    }
    g->sample[0] = g->sample[1];
    g->sample[1] = oldest;
    if (g->at_ns && age < OLDEST_NS * INT64_C(1000000000))
        *code = compare(n, g);
    g->at_ns = clock_ns(); /* not the look's: looks begin with other GPUs, and the call may take its time */
    return hu_nvml_class_of(*code) == HU_NVML_LOST ? HU_NVML_LOST : HU_NVML_OK;
}

void hu_nvml_gpm_close(hu_nvml *n, hu_nvml_gpm *g)
{
    for (int i = 0; i < 2; i++) {
        if (g->sample[i])
            n->free_sample(g->sample[i]);
        g->sample[i] = NULL;
    }
    g->at_ns = 0;
    g->has = 0;
}
