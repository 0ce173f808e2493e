/* SPDX-License-Identifier: Apache-2.0
 * demo_gpu.c - a source: the GPUs of a scenario, in place of those of drivers.
 *
 * It says so as a problem: whoever reads a dashboard must be able to see that its numbers are invented.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "monitor/demo/demo_model.h"
#include "monitor/source.h"

enum { SECOND_NS = 1000000000, LABELS_MOST = 16, NUMBER_TEXT = 16 };

static const char *const buses[HU_DEMO_GPUS] = {"0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0",
                                                "0000:9d:00.0", "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"};

typedef struct {
    hu_demo_model            model;
    const hu_source_options *options;
    double                   start_s; /* CLOCK_BOOTTIME */
    double                   began;   /* Unix time */
    hu_board_state           board;
} demo_gpu;

/* A GPU or a MIG device, as labels, with room for the last ones of a metric. */
typedef struct {
    hu_demo_label label[LABELS_MOST];
    size_t        n;
    char          gpu[NUMBER_TEXT], gi[NUMBER_TEXT], uuid[HU_DEMO_TEXT], parent[HU_DEMO_TEXT];
    hu_readings  *out;
} subject;

static double clock_s(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void add(subject *s, const char *key, const char *value)
{
    s->label[s->n++] = (hu_demo_label){key, value};
}

/* Slice < 0: the whole GPU. */
static void set_subject(subject *s, const demo_gpu *d, int gpu, int slice, hu_readings *out)
{
    *s = (subject){.out = out};
    hu_demo_uuid(gpu, slice, s->uuid);
    snprintf(s->gpu, sizeof s->gpu, "%d", gpu);
    add(s, "gpu", s->gpu);
    add(s, "uuid", s->uuid);
    add(s, "minor", s->gpu);
    add(s, "vendor", "nvidia");
    add(s, "model", "NVIDIA H100 80GB HBM3");
    add(s, "pci_bus_id", buses[gpu]);
    add(s, "driver", "570.124.06");
    if (slice < 0)
        return;
    hu_demo_uuid(gpu, -1, s->parent);
    snprintf(s->gi, sizeof s->gi, "%d", d->model.scenario->slice[slice].gi);
    add(s, "gi", s->gi);
    add(s, "ci", "0");
    add(s, "parent", s->parent);
    add(s, "profile", d->model.scenario->slice[slice].profile);
}

static void put(const subject *s, hu_metric m, double value)
{
    hu_demo_put(s->out, m, value, s->label, s->n);
}

static void put_with(const subject *s, hu_metric m, double value, const char *key, const char *label)
{
    subject one = *s;

    add(&one, key, label);
    put(&one, m, value);
}

/* As a driver gives it: in whole steps of its unit. */
static double whole(double value, double step)
{
    return round(value / step) * step;
}

/* ---- what is sampled when ---------------------------------------------------------------------------------------- */

static void put_activity(const subject *s, const hu_demo_activity *a)
{
    put(s, HU_METRIC_GPU_GRAPHICS_ACTIVE, a->busy);
    put(s, HU_METRIC_GPU_SM_ACTIVE, a->sm_active);
    put(s, HU_METRIC_GPU_SM_OCCUPANCY, a->occupancy);
    put(s, HU_METRIC_GPU_TENSOR_ACTIVE, a->tensor);
    put(s, HU_METRIC_GPU_DRAM_ACTIVE, a->dram);
    put(s, HU_METRIC_GPU_FP64_ACTIVE, 0);
    put(s, HU_METRIC_GPU_FP32_ACTIVE, .12 * a->sm_active);
    put(s, HU_METRIC_GPU_FP16_ACTIVE, .03 * a->sm_active);
    put(s, HU_METRIC_GPU_PCIE_TX_RATE, floor(a->pcie_sent));
    put(s, HU_METRIC_GPU_PCIE_RX_RATE, floor(a->pcie_received));
    put(s, HU_METRIC_GPU_NVLINK_TX_RATE, floor(a->nvlink));
    put(s, HU_METRIC_GPU_NVLINK_RX_RATE, floor(a->nvlink));
}

static void put_reasons(const subject *s, const hu_demo_device *g)
{
#define R(id, bit, limits, words) put_with(s, HU_METRIC_GPU_CLOCK_REASON, (g->reasons & (bit)) != 0, "reason", words);
    HU_GPU_REASONS(R)
#undef R
}

/* Of those that lower the clock of work. */
static void put_throttled(const subject *s, const hu_demo_device *g)
{
#define R(id, bit, limits, words) \
    if (limits)                   \
        put_with(s, HU_METRIC_GPU_THROTTLE, g->throttled_s[HU_GPU_REASON_##id], "reason", words);
    HU_GPU_REASONS(R)
#undef R
}

static void put_fast(const demo_gpu *d, const subject *s, int gpu)
{
    const hu_demo_device *g = &d->model.gpu[gpu];

    put(s, HU_METRIC_GPU_POWER, whole(g->power_w, 1e-3));
    put(s, HU_METRIC_GPU_POWER_INSTANT, whole(g->power_w, 1e-3));
    put(s, HU_METRIC_GPU_SM_CLOCK, g->sm_clock_hz);
    put(s, HU_METRIC_GPU_MEMORY_CLOCK, HU_DEMO_MEMORY_HZ);
    put_reasons(s, g);
    if (hu_demo_is_divided(d->model.scenario, gpu))
        return; /* a driver has no utilization of it */
    put(s, HU_METRIC_GPU_BUSY, whole(g->now.busy, .01));
    put(s, HU_METRIC_GPU_ENCODER, 0);
    put(s, HU_METRIC_GPU_DECODER, 0);
    put(s, HU_METRIC_GPU_MEMORY_BUSY, whole(g->now.dram, .01));
    put_activity(s, &g->now);
}

static void put_memory(const subject *s, double used, double total)
{
    const double reserved = floor(total * .007);

    put(s, HU_METRIC_GPU_MEMORY_USED, used);
    put(s, HU_METRIC_GPU_MEMORY_TOTAL, total);
    put(s, HU_METRIC_GPU_MEMORY_RESERVED, reserved);
    put(s, HU_METRIC_GPU_MEMORY_FREE, total - used - reserved);
}

static void put_medium(const demo_gpu *d, const subject *s, int gpu)
{
    const hu_demo_device *g = &d->model.gpu[gpu];

    put(s, HU_METRIC_GPU_ENERGY, whole(g->energy_j, 1e-3));
    put(s, HU_METRIC_GPU_TEMPERATURE, round(g->temperature_c));
    put(s, HU_METRIC_GPU_MEMORY_TEMPERATURE, round(g->temperature_c) + 9);
    put(s, HU_METRIC_GPU_TEMPERATURE_MARGIN, HU_DEMO_HOT_C - round(g->temperature_c));
    put(s, HU_METRIC_GPU_NVLINK_TX, floor(g->nvlink_bytes));
    put(s, HU_METRIC_GPU_NVLINK_RX, floor(g->nvlink_bytes));
    put(s, HU_METRIC_GPU_PCIE_TX, floor(g->pcie_sent_bytes));
    put(s, HU_METRIC_GPU_PCIE_RX, floor(g->pcie_received_bytes));
    if (!hu_demo_is_divided(d->model.scenario, gpu))
        put_memory(s, g->memory_bytes, HU_DEMO_MEMORY_BYTES);
}

static bool has_process(hu_demo_work work)
{
    return work != HU_DEMO_FREE && work != HU_DEMO_IDLE;
}

static void put_slow(const demo_gpu *d, const subject *s, int gpu)
{
    const hu_demo_fault fault = d->model.scenario->gpu[gpu].fault;
    const double        corrected = fault == HU_DEMO_ECC ? floor(40 + d->model.at_s / 20) : 0;
    const double        uncorrected = fault == HU_DEMO_ECC ? 2 : 0;
    const double        lost_rows = fault == HU_DEMO_ECC ? 1 : fault == HU_DEMO_ROW_FAILED ? 8 : 0;

    put(s, HU_METRIC_GPU_INFO, 1);
    put(s, HU_METRIC_GPU_POWER_LIMIT, HU_DEMO_LIMIT_W);
    put(s, HU_METRIC_GPU_POWER_DEFAULT, HU_DEMO_LIMIT_W);
    put(s, HU_METRIC_GPU_POWER_MIN, 200);
    put(s, HU_METRIC_GPU_POWER_MAX, HU_DEMO_LIMIT_W);
    put(s, HU_METRIC_GPU_SM_CLOCK_MAX, HU_DEMO_MOST_SM_HZ);
    put(s, HU_METRIC_GPU_MEMORY_CLOCK_MAX, HU_DEMO_MEMORY_HZ);
    put(s, HU_METRIC_GPU_PCIE_GENERATION, 5);
    put(s, HU_METRIC_GPU_PCIE_GENERATION_MAX, 5);
    put(s, HU_METRIC_GPU_PCIE_WIDTH, 16);
    put(s, HU_METRIC_GPU_PCIE_WIDTH_MAX, 16);
    put(s, HU_METRIC_GPU_FABRIC_STATE, 3);
    put(s, HU_METRIC_GPU_FABRIC_HEALTHY, 1);
    put(s, HU_METRIC_GPU_PERSISTENCE, 1);
    put(s, HU_METRIC_GPU_MIG_MODE, hu_demo_is_divided(d->model.scenario, gpu));
    put_with(s, HU_METRIC_GPU_NVLINK_ERRORS, 0, "type", "replay");
    put_with(s, HU_METRIC_GPU_NVLINK_ERRORS, 0, "type", "recovery");
    put(s, HU_METRIC_GPU_PCIE_REPLAYS, gpu == 1 ? 3 : 0);
    if (!hu_demo_is_divided(d->model.scenario, gpu))
        put(s, HU_METRIC_GPU_PROCESSES, has_process(d->model.scenario->gpu[gpu].work));
    put_throttled(s, &d->model.gpu[gpu]);
    put_with(s, HU_METRIC_GPU_ECC, corrected, "type", "corrected");
    put_with(s, HU_METRIC_GPU_ECC, uncorrected, "type", "uncorrected");
    put_with(s, HU_METRIC_GPU_ECC_LIFE, corrected + 17, "type", "corrected");
    put_with(s, HU_METRIC_GPU_ECC_LIFE, uncorrected, "type", "uncorrected");
    put_with(s, HU_METRIC_GPU_REMAPPED_ROWS, gpu == 3 ? 1 : 0, "cause", "corrected");
    put_with(s, HU_METRIC_GPU_REMAPPED_ROWS, lost_rows, "cause", "uncorrected");
    put(s, HU_METRIC_GPU_ROW_PENDING, fault == HU_DEMO_ECC);
    put(s, HU_METRIC_GPU_ROW_FAILED, fault == HU_DEMO_ROW_FAILED);
    put(s, HU_METRIC_GPU_RECOVERY, fault == HU_DEMO_ECC);
}

static void put_xids(const demo_gpu *d, const subject *s, int gpu)
{
    for (size_t i = 0; i < HU_DEMO_XIDS && d->model.scenario->xid[i].xid; i++) {
        const hu_demo_xid *x = &d->model.scenario->xid[i];
        char               number[NUMBER_TEXT];

        if (x->gpu != gpu)
            continue;
        snprintf(number, sizeof number, "%u", x->xid);
        put_with(s, HU_METRIC_GPU_XID, 1, "xid", number);
        put_with(s, HU_METRIC_GPU_XID_LAST, floor(d->began - x->ago_s), "xid", number);
    }
}

static void put_gpu(const demo_gpu *d, hu_sample_group group, int gpu, hu_readings *out)
{
    const bool is_lost = d->model.scenario->gpu[gpu].fault == HU_DEMO_LOST;
    subject    s;

    set_subject(&s, d, gpu, -1, out);
    if (group == HU_SAMPLE_FAST) {
        put(&s, HU_METRIC_GPU_UP, !is_lost);
        put_xids(d, &s, gpu);
    }
    if (is_lost)
        return;
    if (group == HU_SAMPLE_FAST)
        put_fast(d, &s, gpu);
    else if (group == HU_SAMPLE_MEDIUM)
        put_medium(d, &s, gpu);
    else
        put_slow(d, &s, gpu);
}

static void put_slice(const demo_gpu *d, hu_sample_group group, int slice, hu_readings *out)
{
    const hu_demo_slice  *at = &d->model.scenario->slice[slice];
    const hu_demo_device *g = &d->model.slice[slice];
    subject               s;

    set_subject(&s, d, at->gpu, slice, out);
    if (group == HU_SAMPLE_FAST) {
        put_activity(&s, &g->now);
    } else if (group == HU_SAMPLE_MEDIUM) {
        put_memory(&s, g->memory_bytes, at->memory_bytes);
    } else {
        put(&s, HU_METRIC_GPU_INFO, 1);
        put(&s, HU_METRIC_GPU_PROCESSES, has_process(at->work));
    }
}

/* ---- the board --------------------------------------------------------------------------------------------------- */

static void board_row(demo_gpu *d, int gpu, int slice)
{
    const hu_demo_scenario *s = d->model.scenario;
    hu_board_gpu           *b = &d->board.gpu[d->board.n++];

    memset(b, 0, sizeof *b);
    hu_demo_uuid(gpu, slice, b->uuid);
    snprintf(b->bus, sizeof b->bus, "%s", buses[gpu]);
    b->index = b->minor = gpu;
    b->gi = b->ci = -1;
    b->is_divided = slice < 0 && hu_demo_is_divided(s, gpu);
    b->busy = b->is_divided ? -1 : slice < 0 ? d->model.gpu[gpu].now.sm_active : d->model.slice[slice].now.sm_active;
    b->joules = b->is_divided || slice >= 0 ? 0 : d->model.gpu[gpu].energy_j;
    if (slice >= 0) {
        hu_demo_uuid(gpu, -1, b->parent);
        b->gi = s->slice[slice].gi;
        b->ci = 0;
    }
}

static void write_board(demo_gpu *d)
{
    if (!d->options->board)
        return;
    d->board.n = 0;
    d->board.at_ns = (int64_t)(clock_s(CLOCK_BOOTTIME) * SECOND_NS);
    for (int i = 0; i < HU_DEMO_GPUS; i++)
        if (d->model.scenario->gpu[i].fault != HU_DEMO_LOST)
            board_row(d, i, -1);
    for (int k = 0; k < HU_DEMO_SLICES && d->model.scenario->slice[k].profile; k++)
        board_row(d, d->model.scenario->slice[k].gpu, k);
    hu_gpu_board_write(d->options->board, &d->board);
}

/* ---- the source -------------------------------------------------------------------------------------------------- */

static bool demo_gpu_open(const hu_source_options *options, void **state, hu_readings *out)
{
    const hu_demo_scenario *scenario = options->scenario ? hu_demo_find(options->scenario) : NULL;
    demo_gpu               *d = scenario ? calloc(1, sizeof *d) : NULL;

    (void)out;
    if (!d)
        return false;
    hu_demo_start(&d->model, scenario);
    d->options = options;
    d->start_s = clock_s(CLOCK_BOOTTIME) - d->model.at_s;
    d->began = clock_s(CLOCK_REALTIME);
    *state = d;
    return true;
}

static bool demo_gpu_sample(void *state, hu_sample_group group, hu_readings *out)
{
    demo_gpu *d = state;

    if (group == HU_SAMPLE_FAST) { /* others show the same moment */
        hu_demo_advance(&d->model, clock_s(CLOCK_BOOTTIME) - d->start_s);
        hu_put_problem(out, "demo_gpu", "GPUs and jobs are invented (--demo)", "start holdup monitor without --demo");
        hu_put(out, HU_METRIC_GPUS_EXPECTED, HU_DEMO_GPUS, "nvidia");
        write_board(d);
    }
    for (int i = 0; i < HU_DEMO_GPUS; i++)
        put_gpu(d, group, i, out);
    for (int k = 0; k < HU_DEMO_SLICES && d->model.scenario->slice[k].profile; k++)
        put_slice(d, group, k, out);
    return true;
}

const hu_source hu_source_demo_gpu = {"demo_gpu", HU_SAMPLER_GPU, demo_gpu_open, demo_gpu_sample, free};
