/* SPDX-License-Identifier: Apache-2.0
 * gpu_facts.h - what NVIDIA's driver says of its GPUs: asked once, by a process that may hang, or read from a captured tree.
 *
 * In the file holdup/facts of such a tree, beside what facts.h has:
 *
 *   nvml 0                    how NVML started: its code, or -1 no library, -2 one that is too old, -3 no answer in time
 *   nvml.driver 580.95.05
 *   nvml.cuda 13000           the CUDA version of the libcuda that a program would load
 *   gpu.0.name NVIDIA H100    also bus, as in /sys, and the numbers below under their names
 *   gpu.0.pid 4711            a process that uses it; a line for each
 *   gpu.0.peer 1 0            can it read the memory of GPU 1: HU_PEER_...
 */
#ifndef HU_DOCTOR_GPU_FACTS_H
#define HU_DOCTOR_GPU_FACTS_H

#include "base/gpu_counters.h"
#include "doctor/doctor.h"

enum { HU_GPU_FACT_TEXT = 96, HU_GPU_FACT_PIDS = 32, HU_GPU_NO_FACT = INT32_MIN };
enum { HU_GPU_NO_ANSWER = -3, HU_GPU_ASK_MS = 20000, HU_GPU_LOOK_MS = 25000 };

/* N(name): numbers, in the driver's own units. */
/* clang-format off */
#define HU_GPU_NUMBERS(N)                                                                                   \
    N(error)           /* NVML's code where it cannot be looked at: nothing else is known then */           \
    N(minor) N(capability) N(mig) N(parts) N(memory) N(bar) N(use)                                          \
    N(recovery) N(ecc) N(ecc_next) N(corrected) N(uncorrected)                                              \
    N(rows_pending) N(rows_failed) N(pages_pending)                                                         \
    N(reasons) N(celsius) N(margin) N(power_limit) N(power_default)                                         \
    N(limited_power) N(limited_thermal) N(limited_software) N(limited_hardware) N(limited_brake) /* ns */   \
    N(clock) N(clock_most) N(chosen_clock) N(default_clock)                                                 \
    N(persistence) N(compute_mode)                                                                          \
    N(generation) N(generation_most) N(width) N(width_most) N(replays)                                      \
    N(links) N(links_active) N(link_down) N(link_flit) N(link_data) N(link_replays) N(link_recoveries)      \
    N(fabric) N(fabric_code) N(fabric_health)
/* clang-format on */

typedef struct {
    char name[HU_GPU_FACT_TEXT], bus[32];
#define N(name) int64_t name;
    HU_GPU_NUMBERS(N) /* HU_GPU_NO_FACT: not known */
#undef N
    int64_t pid[HU_GPU_FACT_PIDS];
    int     n_pids;
    int8_t  peer[HU_GPU_MOST]; /* -1: not known */
    bool    is_there;          /* the driver has one of this number */
} hu_gpu_fact;

typedef struct {
    bool        is_known;   /* there is a driver, or a captured tree has facts of one */
    int         code;       /* of the start; 0: the rest is known */
    char        driver[64]; /* "" not known */
    int         cuda;       /* 13000; -1 not known */
    size_t      n;
    hu_gpu_fact gpu[HU_GPU_MOST];
} hu_gpu_facts;

/* Never NULL; lives as long as the process. */
const hu_gpu_facts *hu_gpu_facts_of(hu_doctor *d);

/*
 * For a check of GPUs: their facts, or NULL after it said why there are none: no such GPU (HU_VERDICT_NONE), no driver, no
 * answer.
 */
const hu_gpu_facts *hu_gpu_facts_or_say(hu_doctor *d, const hu_check *check);

#endif
