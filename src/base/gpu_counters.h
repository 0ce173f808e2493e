/* SPDX-License-Identifier: Apache-2.0
 * gpu_counters.h - what is sampled of a GPU beside a recording, and what its counter tracks are called.
 *
 * The writer of a trace and its reader know a track by this name: "GPU 0 power (W)".  The number is CUDA's, as in all else
 * of the trace; where it is not known, the driver's: "nvidia-smi GPU 3 power (W)".
 */
#ifndef HU_BASE_GPU_COUNTERS_H
#define HU_BASE_GPU_COUNTERS_H

#include <stdint.h>
#include <stdio.h>

/* clang-format off */
/* Q(id, words, unit, what one unit of the driver's number is in it) */
#define HU_GPU_QUANTITIES(Q)                                   \
    Q(BUSY, "utilization", "%", 1)                             \
    Q(MEMORY_BUSY, "memory utilization", "%", 1)               \
    Q(SM_CLOCK, "SM clock", "MHz", 1)                          \
    Q(MEMORY_CLOCK, "memory clock", "MHz", 1)                  \
    Q(POWER, "power", "W", 1e-3)                               \
    Q(ENERGY, "energy", "J", 1e-3)                             \
    Q(MEMORY, "memory used", "bytes", 1)                       \
    Q(TEMPERATURE, "temperature", "C", 1)                      \
    Q(REASONS, "clock event reasons", "bits", 1)               \
    Q(XID, "XID error", "number", 1)

/*
 * R(id, bit, lowers the clock of work, words).  Bits as NVML's headers of API 12.0 to 13.5 have them: none ever moved, and
 * the last two came with 13.4.  A bit that is not listed here is shown as its number.
 */
#define HU_GPU_REASONS(R)                                                          \
    R(IDLE, 0x1, false, "idle")                                                    \
    R(SET_CLOCKS, 0x2, false, "application clocks setting")                        \
    R(POWER_CAP, 0x4, true, "software power cap")                                  \
    R(SLOWDOWN, 0x8, true, "hardware slowdown")                                    \
    R(SYNC_BOOST, 0x10, true, "sync boost with another GPU")                       \
    R(THERMAL, 0x20, true, "software thermal slowdown")                            \
    R(HARDWARE_THERMAL, 0x40, true, "hardware thermal slowdown")                   \
    R(POWER_BRAKE, 0x80, true, "hardware power brake")                             \
    R(DISPLAY, 0x100, false, "display clock setting")                              \
    R(BOARD_LIMIT, 0x200, true, "board limit")                                     \
    R(RELIABILITY, 0x400, true, "reliability limit")
/* clang-format on */

typedef enum {
#define Q(id, words, unit, factor) HU_GAUGE_##id,
    HU_GPU_QUANTITIES(Q)
#undef Q
        HU_GPU_QUANTITY_COUNT
} hu_gpu_quantity;

typedef enum {
#define R(id, bit, limits, words) HU_GPU_REASON_##id,
    HU_GPU_REASONS(R)
#undef R
        HU_GPU_REASON_COUNT
} hu_gpu_reason;

enum { HU_GPU_MOST = 64, HU_GPU_LABEL_BYTES = 40 }; /* HU_GPU_MOST: of one machine */

/* What a GPU's tracks begin with: CUDA's number of it (less than 0: not known), the driver's. */
static inline void hu_gpu_label(int64_t cuda, int64_t driver, char out[HU_GPU_LABEL_BYTES])
{
    snprintf(out, HU_GPU_LABEL_BYTES, cuda < 0 ? "nvidia-smi GPU %lld" : "GPU %lld", (long long)(cuda < 0 ? driver : cuda));
}

#endif
