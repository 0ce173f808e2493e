/* SPDX-License-Identifier: Apache-2.0
 * dcgm.c - a source, where --dcgm asks for it: what the units of NVIDIA's GPUs before Hopper did.
 *
 * Only of GPUs that NVML has found, that answer it, and of whose units it tells nothing itself: no series has two tellers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/dcgm.h"
#include "monitor/source.h"

enum { WHY = 200 };

typedef struct {
    const hu_source_options *options;
    hu_dcgm                 *dcgm;
    hu_board_state           board;
    hu_dcgm_gpu              gpu[HU_DCGM_GPUS];
} dcgm_state;

static void put_values(hu_readings *out, const hu_dcgm_gpu *g, int32_t index)
{
    static const hu_metric metric[HU_DCGM_COUNT] = {
        [HU_DCGM_GRAPHICS] = HU_METRIC_GPU_GRAPHICS_ACTIVE,   [HU_DCGM_SM] = HU_METRIC_GPU_SM_ACTIVE,
        [HU_DCGM_OCCUPANCY] = HU_METRIC_GPU_SM_OCCUPANCY,     [HU_DCGM_TENSOR] = HU_METRIC_GPU_TENSOR_ACTIVE,
        [HU_DCGM_DRAM] = HU_METRIC_GPU_DRAM_ACTIVE,           [HU_DCGM_FP64] = HU_METRIC_GPU_FP64_ACTIVE,
        [HU_DCGM_FP32] = HU_METRIC_GPU_FP32_ACTIVE,           [HU_DCGM_FP16] = HU_METRIC_GPU_FP16_ACTIVE,
        [HU_DCGM_PCIE_SENT] = HU_METRIC_GPU_PCIE_TX_RATE,     [HU_DCGM_PCIE_RECEIVED] = HU_METRIC_GPU_PCIE_RX_RATE,
        [HU_DCGM_NVLINK_SENT] = HU_METRIC_GPU_NVLINK_TX_RATE, [HU_DCGM_NVLINK_RECEIVED] = HU_METRIC_GPU_NVLINK_RX_RATE,
    };
    char number[16];

    snprintf(number, sizeof number, "%d", (int)index);
    for (int i = 0; i < HU_DCGM_COUNT; i++)
        if (g->has & 1u << i)
            hu_put(out, metric[i], g->value[i], number, g->uuid, "");
}

static const hu_board_gpu *row_of(const hu_board_state *b, const char *uuid)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->gpu[i].needs_units && strcmp(b->gpu[i].uuid, uuid) == 0)
            return &b->gpu[i];
    return NULL;
}

static bool dcgm_open(const hu_source_options *options, void **state, hu_readings *out)
{
    dcgm_state *s = calloc(1, sizeof *s);
    char        why[WHY] = "no memory";

    if (s) {
        s->options = options;
        s->dcgm = hu_dcgm_open(options->dcgm, options->period_ns, why, sizeof why);
    }
    if (s && s->dcgm) {
        *state = s;
        return true;
    }
    hu_put_problem(
        out, "dcgm", why,
        "install and start DCGM (package datacenter-gpu-manager-4-core, service nvidia-dcgm), or leave out --dcgm");
    free(s);
    return false;
}

static bool dcgm_sample(void *state, hu_sample_group group, hu_readings *out)
{
    dcgm_state     *s = state;
    char            why[WHY];
    struct timespec now;
    int64_t         oldest_us;

    if (group != HU_SAMPLE_FAST)
        return true;
    clock_gettime(CLOCK_REALTIME, &now);
    oldest_us = now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000 - 2 * s->options->period_ns / 1000;
    if (!hu_dcgm_look(s->dcgm, oldest_us, s->gpu, why, sizeof why)) {
        hu_put_problem(out, "dcgm", why, "see journalctl -u nvidia-dcgm; it is asked again");
        return false;
    }
    if (!hu_gpu_board_read(s->options->board, &s->board))
        return true;
    for (size_t i = 0; i < HU_DCGM_GPUS; i++) {
        const hu_board_gpu *row = s->gpu[i].uuid[0] ? row_of(&s->board, s->gpu[i].uuid) : NULL;

        if (row)
            put_values(out, &s->gpu[i], row->index);
    }
    return true;
}

static void dcgm_close(void *state)
{
    dcgm_state *s = state;

    hu_dcgm_close(s->dcgm);
    free(s);
}

const hu_source hu_source_dcgm = {"dcgm", HU_SAMPLER_GPU, dcgm_open, dcgm_sample, dcgm_close};
