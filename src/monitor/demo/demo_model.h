/* SPDX-License-Identifier: Apache-2.0
 * demo_model.h - how the GPUs of a scenario behave, as a function of time: the same time, the same values. */
#ifndef HU_MONITOR_DEMO_DEMO_MODEL_H
#define HU_MONITOR_DEMO_DEMO_MODEL_H

#include "base/gpu_counters.h"
#include "monitor/demo/demo.h"

/* What a GPU or a MIG device does, shares from 0 to 1. */
typedef struct {
    double busy, sm_active, occupancy, tensor, dram;
    double pcie_sent, pcie_received, nvlink; /* bytes per second */
} hu_demo_activity;

typedef struct {
    hu_demo_activity now; /* means since the last advance */
    double           sm_clock_hz, power_w, temperature_c;
    double           energy_j, nvlink_bytes, pcie_sent_bytes, pcie_received_bytes;
    double           throttled_s[HU_GPU_REASON_COUNT];
    double           memory_bytes; /* in use */
    uint32_t         reasons;      /* bits of HU_GPU_REASONS */
} hu_demo_device;

typedef struct {
    const hu_demo_scenario *scenario;
    double                  at_s;
    hu_demo_device          gpu[HU_DEMO_GPUS], slice[HU_DEMO_SLICES];
} hu_demo_model;

#define HU_DEMO_MEMORY_BYTES 85520809984.0
#define HU_DEMO_MOST_SM_HZ   1.98e9
#define HU_DEMO_MEMORY_HZ    2.619e9
#define HU_DEMO_LIMIT_W      700.0
#define HU_DEMO_HOT_C        87.0 /* at which it slows down */

void hu_demo_start(hu_demo_model *m, const hu_demo_scenario *scenario);

/* Goes to that time since the start; back is nowhere. */
void hu_demo_advance(hu_demo_model *m, double at_s);

#endif
