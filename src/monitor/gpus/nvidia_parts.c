/* SPDX-License-Identifier: Apache-2.0
 * nvidia_parts.c - MIG devices: which there are, and what is known of each.
 *
 * Memory and work belong to a GPU instance, of which several devices may be parts (compute instances): they are exported
 * once, with the first device of the instance, and its `gi`.  Utilization is not to be had here: performance counters or
 * nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/gpus/nvidia.h"

/* "NVIDIA H100 80GB HBM3 MIG 1g.10gb" is a GPU and a profile. */
static const char *profile_of(const char *name, size_t *model)
{
    const char *at = strstr(name, " MIG ");

    *model = at ? (size_t)(at - name) : strlen(name);
    return at ? at + 5 : "";
}

static void drop(hu_nvidia *s, size_t i)
{
    if (s->nvml)
        hu_nvml_gpm_close(s->nvml, &s->part[i].gpm);
    s->n_parts--;
    memmove(&s->part[i], &s->part[i + 1], (s->n_parts - i) * sizeof *s->part);
}

void hu_nv_parts_drop(hu_nvidia *s, const hu_nv_gpu *g)
{
    const size_t gpu = (size_t)(g - s->gpu);

    for (size_t i = s->n_parts; i-- > 0;)
        if (s->part[i].gpu == gpu)
            drop(s, i);
}

/* Is the part a device that is known already?  Handles are given to others when devices are made anew. */
static hu_nv_part *find(hu_nvidia *s, size_t gpu, const char *uuid)
{
    for (size_t i = 0; i < s->n_parts; i++)
        if (s->part[i].gpu == gpu && strcmp(s->part[i].d.uuid, uuid) == 0)
            return &s->part[i];
    return NULL;
}

static void take(hu_nvidia *s, size_t gpu, const hu_nvml_device *d, unsigned gi, unsigned ci, bool is_here[HU_NV_PARTS_MOST])
{
    hu_nv_part *p = find(s, gpu, d->uuid);

    if (p && p->gi == gi && p->ci == ci) {
        p->d.handle = d->handle;
    } else {
        if (p || s->n_parts == HU_NV_PARTS_MOST)
            return; /* one that changed is dropped now and found at the next look */
        p = &s->part[s->n_parts++];
        *p = (hu_nv_part){.d = *d, .gpu = gpu, .gi = gi, .ci = ci, .busy = -1};
        snprintf(p->gi_text, sizeof p->gi_text, "%u", gi);
        snprintf(p->ci_text, sizeof p->ci_text, "%u", ci);
    }
    is_here[p - s->part] = true;
}

/* One device of each GPU instance speaks for it: that of the lowest number. */
static void choose_first(hu_nvidia *s)
{
    for (size_t i = 0; i < s->n_parts; i++) {
        hu_nv_part *p = &s->part[i];

        p->is_first = true;
        for (size_t k = 0; k < s->n_parts; k++)
            if (s->part[k].gpu == p->gpu && s->part[k].gi == p->gi && s->part[k].ci < p->ci)
                p->is_first = false;
    }
}

/* Processes and identity. */
static void put_part(hu_nvidia *s, hu_nv_gpu *g, hu_nv_part *p)
{
    size_t      model, n = 0;
    const char *profile = profile_of(p->d.name, &model);
    char        name[HU_NVML_TEXT], minor[HU_NV_NUMBER_TEXT] = "";
    hu_nvml_class class;
    int code;

    snprintf(name, sizeof name, "%.*s", (int)model, p->d.name);
    if (g->d.minor >= 0)
        snprintf(minor, sizeof minor, "%d", g->d.minor);
    hu_put(&g->slow, HU_METRIC_GPU_INFO, 1, g->number_text, p->d.uuid, p->gi_text, p->ci_text, g->d.uuid, "nvidia", name,
           g->bus, minor, s->driver, profile);
    p->users.n = 0;
    class = hu_nvml_list(s->nvml, &p->d, &s->buffer, p->users.pid, p->users.memory, HU_BOARD_PIDS, &n, &code);
    if (hu_nv_is_lost(s, g, class, code) || class != HU_NVML_OK)
        return;
    p->users.n = n < HU_BOARD_PIDS ? (uint32_t)n : HU_BOARD_PIDS;
    hu_put(&g->slow, HU_METRIC_GPU_PROCESSES, (double)n, g->number_text, p->d.uuid, p->gi_text);
}

void hu_nv_parts_slow(hu_nvidia *s, hu_nv_gpu *g)
{
    const size_t   gpu = (size_t)(g - s->gpu);
    const unsigned most = g->d.is_mig ? hu_nvml_parts_most(s->nvml, &g->d) : 0;
    bool           is_here[HU_NV_PARTS_MOST] = {false};

    for (unsigned i = 0; i < most; i++) {
        hu_nvml_device d;
        unsigned       gi, ci;
        int            code;

        if (hu_nvml_part(s->nvml, &g->d, i, &d, &gi, &ci, &code))
            take(s, gpu, &d, gi, ci, is_here);
        else if (hu_nv_is_lost(s, g, hu_nvml_class_of(code), code))
            return;
    }
    for (size_t i = s->n_parts; i-- > 0;)
        if (s->part[i].gpu == gpu && !is_here[i])
            drop(s, i);
    choose_first(s);
    for (size_t i = 0; i < s->n_parts && g->is_up; i++)
        if (s->part[i].gpu == gpu)
            put_part(s, g, &s->part[i]);
}

void hu_nv_parts_medium(hu_nvidia *s, hu_nv_gpu *g)
{
    for (size_t i = 0; i < s->n_parts && g->is_up; i++) {
        hu_nv_part *p = &s->part[i];
        int64_t     a[HU_NVML_ANSWERS];
        int         code = 0;

        if (&s->gpu[p->gpu] != g || !p->is_first)
            continue;
        switch (hu_nvml_ask(s->nvml, &p->d, HU_NVML_ASK_MEMORY, a, &code)) {
        case HU_NVML_OK:
            hu_nv_put_memory(&g->medium, a, g->number_text, p->d.uuid, p->gi_text);
            break;
        case HU_NVML_LOST:
            hu_nv_is_lost(s, g, HU_NVML_LOST, code);
            break;
        case HU_NVML_NEVER:
        case HU_NVML_LATER:
            break;
        }
    }
}

/* All devices of an instance are as busy as the instance: which of them it is cannot be told. */
void hu_nv_parts_fast(hu_nvidia *s, hu_nv_gpu *g, int64_t now_ns)
{
    for (size_t i = 0; i < s->n_parts && g->is_up; i++) {
        hu_nv_part *p = &s->part[i];
        hu_nvml_class class;
        int code;

        if (&s->gpu[p->gpu] != g || !p->is_first)
            continue;
        class = hu_nvml_gpm_look(s->nvml, &g->d, (int)p->gi, &p->gpm, now_ns, &code);
        if (hu_nv_is_lost(s, g, class, code))
            return;
        hu_nv_put_gpm(&g->fast, &p->gpm, g->number_text, p->d.uuid, p->gi_text);
        for (size_t k = 0; k < s->n_parts; k++)
            if (s->part[k].gpu == p->gpu && s->part[k].gi == p->gi)
                s->part[k].busy = p->gpm.has >> HU_GPM_SM & 1 ? p->gpm.value[HU_GPM_SM] : -1;
    }
}
