/* SPDX-License-Identifier: Apache-2.0
 * demo_model.c - a step of 12 s, so that it shows in samples of 1 s; power follows what is used and the clock, heat follows
 * power, and a rank whose clock was capped makes all others wait.
 *
 * Figures are those of an H100 SXM of 700 W, roughly.  Time goes on in ticks of 0.1 s; totals are sums over them, so that
 * energy is the integral of the power that was shown.
 */
#include "monitor/demo/demo_model.h"

#include <math.h>
#include <string.h>

#define TICK_S        0.1
#define IDLE_W        72.0
#define IDLE_HZ       345e6
#define CLOCK_STEP_HZ 15e6
#define CAPPED_HZ     1.41e9
#define HOT_HZ        1.2e9
#define BRAKED_HZ     990e6
#define ROOM_C        28.0
#define HEAT_S        25.0 /* in which the temperature goes most of the way */

enum { TICKS_MOST = 600 };

/* From -1 to 1, from the device, a quantity and the tick alone (splitmix64 of Steele, Lea and Flood). */
static double noise(unsigned device, unsigned quantity, uint64_t tick)
{
    uint64_t x = (tick << 16 | device << 8 | quantity) + UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (double)(x >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static double share(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

double hu_demo_slowest(const hu_demo_scenario *s)
{
    for (int i = 0; i < HU_DEMO_GPUS; i++)
        if (s->gpu[i].work == HU_DEMO_TRAINING && s->gpu[i].fault == HU_DEMO_CAPPED)
            return HU_DEMO_MOST_SM_HZ / CAPPED_HZ;
    return 1;
}

static const hu_demo_activity computing = {1, .94, .42, .52, .46, .2e9, .3e9, 60e9};
static const hu_demo_activity reducing = {1, .28, .09, .02, .22, .1e9, .1e9, 330e9};
static const hu_demo_activity waiting = {1, .12, .03, 0, .01, .02e9, .02e9, 0}; /* a kernel of NCCL that spins */
static const hu_demo_activity loading = {.06, .03, .01, 0, .02, .05e9, 4e9, 0};
static const hu_demo_activity saving = {.15, .04, .01, 0, .06, 14e9, .1e9, 0};
static const hu_demo_activity starving = {.96, .17, .08, .04, .12, .1e9, 1.6e9, 0};
static const hu_demo_activity serving = {.9, .62, .25, .18, .71, .4e9, .6e9, 9e9}; /* at full load */
static const hu_demo_activity nothing = {0};

static hu_demo_activity scaled(hu_demo_activity a, double by)
{
    return (hu_demo_activity){a.busy * by, a.sm_active * by, a.occupancy * by,     a.tensor * by,
                              a.dram * by, a.pcie_sent * by, a.pcie_received * by, a.nvlink * by};
}

static hu_demo_activity training(const hu_demo_model *m, bool is_slow, double data_s, double t)
{
    const double most = HU_DEMO_COMPUTE_S * hu_demo_slowest(m->scenario), own = is_slow ? most : HU_DEMO_COMPUTE_S;
    const double p = fmod(t, most + HU_DEMO_REDUCE_S + data_s);

    if (fmod(t, HU_DEMO_CHECKPOINT_EVERY_S) >= HU_DEMO_CHECKPOINT_EVERY_S - HU_DEMO_CHECKPOINT_S)
        return saving;
    return p < own ? computing : p < most ? waiting : p < most + HU_DEMO_REDUCE_S ? reducing : loading;
}

static hu_demo_activity activity(const hu_demo_model *m, hu_demo_work work, bool is_slow, unsigned device, double t)
{
    static const double turn_s = 420;

    switch (work) {
    case HU_DEMO_TRAINING:
        return training(m, is_slow, HU_DEMO_DATA_S, t);
    case HU_DEMO_SLOWED:
        return training(m, is_slow, t < HU_DEMO_SLOWED_AT_S ? HU_DEMO_DATA_S : HU_DEMO_SLOW_DATA_S, t);
    case HU_DEMO_SAVING:
        return saving;
    case HU_DEMO_SERVING:
        return scaled(serving, .6 + .35 * sin(6.283185307179586 * (t / turn_s + .17 * device)));
    case HU_DEMO_INPUT_BOUND:
        return starving;
    case HU_DEMO_HANGING:
        return waiting;
    case HU_DEMO_FREE:
    case HU_DEMO_IDLE:
        break;
    }
    return nothing;
}

static hu_demo_activity noisy(hu_demo_activity a, unsigned device, uint64_t tick)
{
    if (a.busy > 0) {
        a.busy = share(a.busy * (1 + .01 * noise(device, 0, tick)));
        a.sm_active = share(a.sm_active * (1 + .03 * noise(device, 1, tick)));
        a.occupancy = share(a.occupancy * (1 + .05 * noise(device, 2, tick)));
        a.tensor = share(a.tensor * (1 + .06 * noise(device, 3, tick)));
        a.dram = share(a.dram * (1 + .05 * noise(device, 4, tick)));
    }
    return a;
}

static void set_clock(hu_demo_device *d, const hu_demo_gpu *g, double t)
{
    const bool was_hot = d->reasons & 0x40;

    d->reasons = 0;
    d->sm_clock_hz = HU_DEMO_MOST_SM_HZ - CLOCK_STEP_HZ * round(12 * d->now.tensor); /* what boost leaves under load */
    if (d->now.busy <= .02) {
        d->reasons = 0x1;
        d->sm_clock_hz = IDLE_HZ;
    } else if (g->fault == HU_DEMO_HOT && d->temperature_c > HU_DEMO_HOT_C - (was_hot ? 4 : 0)) {
        d->reasons = 0x40 | 0x8;
        d->sm_clock_hz = HOT_HZ;
    } else if (g->fault == HU_DEMO_BRAKED && fmod(t, 60) < 25) {
        d->reasons = 0x80 | 0x8;
        d->sm_clock_hz = BRAKED_HZ;
    } else if (g->fault == HU_DEMO_CAPPED) {
        d->reasons = 0x2;
        d->sm_clock_hz = CAPPED_HZ;
    }
}

static double watts(const hu_demo_activity *a, double clock_hz)
{
    const double w = IDLE_W +
                     pow(clock_hz / HU_DEMO_MOST_SM_HZ, 1.8) * (240 * a->sm_active + 380 * a->tensor + 250 * a->dram);

    return w < HU_DEMO_LIMIT_W ? w : HU_DEMO_LIMIT_W;
}

static double memory_used(hu_demo_work work, double total, unsigned device, double t)
{
    static const double parts[] = {
        [HU_DEMO_FREE] = .0065,      [HU_DEMO_IDLE] = .045,   [HU_DEMO_TRAINING] = .91, [HU_DEMO_SERVING] = .93,
        [HU_DEMO_INPUT_BOUND] = .55, [HU_DEMO_HANGING] = .91, [HU_DEMO_SAVING] = .91,   [HU_DEMO_SLOWED] = .91};
    const double moves = work == HU_DEMO_TRAINING ? .004 * device + .01 * sin(t / 40 + device) : 0;

    return floor(total * (parts[work] + moves));
}

/* A tick of a whole GPU; `sums` holds what its means are made of. */
static void tick_gpu(hu_demo_model *m, unsigned i, double t, double dt, hu_demo_activity *sums, double *power_sum)
{
    static const struct {
        hu_gpu_reason reason;
        uint32_t      bit;
    } all[] = {
#define R(id, bit, limits, words) {HU_GPU_REASON_##id, bit},
        HU_GPU_REASONS(R)
#undef R
    };
    const hu_demo_gpu *g = &m->scenario->gpu[i];
    hu_demo_device    *d = &m->gpu[i];
    const uint64_t     tick = (uint64_t)(t / TICK_S);
    const double       factor = g->fault == HU_DEMO_HOT ? .14 : .058; /* degrees per watt: a fan that stands still */
    double             power;

    d->now = noisy(activity(m, g->work, g->fault == HU_DEMO_CAPPED, i, t), i, tick);
    for (size_t k = 0; k < HU_DEMO_SLICES && m->scenario->slice[k].profile; k++)
        if (m->scenario->slice[k].gpu == (int)i) {
            const hu_demo_slice   *s = &m->scenario->slice[k];
            const hu_demo_activity whole = activity(m, s->work, false, (unsigned)k, t), a = scaled(whole, s->part);

            d->now.busy = fmax(d->now.busy, whole.busy);
            d->now.sm_active += a.sm_active;
            d->now.tensor += a.tensor;
            d->now.dram += a.dram;
            d->now.pcie_sent += a.pcie_sent;
            d->now.pcie_received += a.pcie_received;
        }
    set_clock(d, g, t);
    power = watts(&d->now, d->sm_clock_hz) + 4 * noise(i, 5, tick);
    d->temperature_c += (ROOM_C + factor * power - d->temperature_c) * (1 - exp(-dt / HEAT_S));
    d->energy_j += power * dt;
    d->nvlink_bytes += d->now.nvlink * dt;
    d->pcie_sent_bytes += d->now.pcie_sent * dt;
    d->pcie_received_bytes += d->now.pcie_received * dt;
    for (size_t r = 0; r < sizeof all / sizeof *all; r++)
        if (d->reasons & all[r].bit)
            d->throttled_s[all[r].reason] += dt;
    d->memory_bytes = memory_used(g->work, HU_DEMO_MEMORY_BYTES, i, t);
    *power_sum += power;
    for (size_t q = 0; q < sizeof *sums / sizeof(double); q++)
        ((double *)sums)[q] += ((const double *)&d->now)[q];
}

static void tick_slice(hu_demo_model *m, unsigned k, double t, hu_demo_activity *sums)
{
    const hu_demo_slice *s = &m->scenario->slice[k];
    hu_demo_device      *d = &m->slice[k];

    d->now = noisy(activity(m, s->work, false, k, t), HU_DEMO_GPUS + k, (uint64_t)(t / TICK_S));
    d->memory_bytes = memory_used(s->work, s->memory_bytes, k, t);
    for (size_t q = 0; q < sizeof *sums / sizeof(double); q++)
        ((double *)sums)[q] += ((const double *)&d->now)[q];
}

void hu_demo_start(hu_demo_model *m, const hu_demo_scenario *scenario)
{
    memset(m, 0, sizeof *m);
    m->scenario = scenario;
    for (int i = 0; i < HU_DEMO_GPUS; i++) { /* as after hours of it */
        hu_demo_device   *d = &m->gpu[i];
        const hu_demo_gpu g = scenario->gpu[i];

        d->energy_j = 1e8 + 1e6 * i;
        d->nvlink_bytes = 4e14;
        d->pcie_sent_bytes = 2e12;
        d->pcie_received_bytes = 9e12;
        d->temperature_c = g.fault == HU_DEMO_HOT       ? HU_DEMO_HOT_C + .5
                           : g.work == HU_DEMO_TRAINING ? 58 + .7 * i
                                                        : 34 + .4 * i;
    }
    hu_demo_advance(m, TICK_S);
}

void hu_demo_advance(hu_demo_model *m, double at_s)
{
    const double     gap = at_s - m->at_s;
    const double     wanted = ceil(gap / TICK_S - 1e-6);
    const int        ticks = wanted > TICKS_MOST ? TICKS_MOST : (int)wanted;
    const double     dt = ticks > 0 ? gap / ticks : 0;
    hu_demo_activity gpu[HU_DEMO_GPUS] = {{0}}, slice[HU_DEMO_SLICES] = {{0}};
    double           power[HU_DEMO_GPUS] = {0};

    if (ticks <= 0)
        return;
    for (int n = 0; n < ticks; n++) {
        const double t = m->at_s + n * dt;

        for (unsigned i = 0; i < HU_DEMO_GPUS; i++)
            tick_gpu(m, i, t, dt, &gpu[i], &power[i]);
        for (unsigned k = 0; k < HU_DEMO_SLICES && m->scenario->slice[k].profile; k++)
            tick_slice(m, k, t, &slice[k]);
    }
    m->at_s = at_s;
    for (int i = 0; i < HU_DEMO_GPUS; i++) {
        m->gpu[i].now = scaled(gpu[i], 1.0 / ticks);
        m->gpu[i].power_w = power[i] / ticks;
    }
    for (int k = 0; k < HU_DEMO_SLICES; k++)
        m->slice[k].now = scaled(slice[k], 1.0 / ticks);
}
