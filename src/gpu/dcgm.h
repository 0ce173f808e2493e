/* SPDX-License-Identifier: Apache-2.0
 * dcgm.h - what the units of GPUs do, as DCGM's host engine (nv-hostengine) measures it, through libdcgm.
 *
 * NVML tells this of Hopper and later (nvml_gpm.h); of Volta to Ampere only DCGM does.  Declarations are our own.
 */
#ifndef HU_GPU_DCGM_H
#define HU_GPU_DCGM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* D(id, number of DCGM's field, greatest value: 1 of a share, 0 where there is none) */
/* clang-format off */
#define HU_DCGM_VALUES(D)                                     \
    D(GRAPHICS, 1001, 1)      /* shares of time */            \
    D(SM, 1002, 1)            /* of SMs */                    \
    D(OCCUPANCY, 1003, 1)     /* of warps */                  \
    D(TENSOR, 1004, 1)                                        \
    D(DRAM, 1005, 1)          /* of its bandwidth */          \
    D(FP64, 1006, 1)                                          \
    D(FP32, 1007, 1)                                          \
    D(FP16, 1008, 1)                                          \
    D(PCIE_SENT, 1009, 0)     /* bytes per second, the GPU's view */ \
    D(PCIE_RECEIVED, 1010, 0)                                 \
    D(NVLINK_SENT, 1011, 0)                                   \
    D(NVLINK_RECEIVED, 1012, 0)
/* clang-format on */

typedef enum {
#define D(id, number, most) HU_DCGM_##id,
    HU_DCGM_VALUES(D)
#undef D
        HU_DCGM_COUNT
} hu_dcgm_value;

enum { HU_DCGM_GPUS = 32, HU_DCGM_TEXT = 96 };

typedef struct {
    char     uuid[HU_DCGM_TEXT]; /* "": there is no such GPU */
    uint32_t has;                /* bits of `value` */
    double   value[HU_DCGM_COUNT];
} hu_dcgm_gpu;

typedef struct hu_dcgm hu_dcgm;

/*
 * Connects to the engine at "HOST", "HOST:PORT" or the path of a socket, and asks it to measure once a period.  NULL: `why`
 * says what failed.
 */
hu_dcgm *hu_dcgm_open(const char *address, int64_t period_ns, char *why, size_t room);

/* The last values that were measured at `oldest_us` (Unix time) or later.  False: it does not tell; `why` says why. */
bool hu_dcgm_look(hu_dcgm *d, int64_t oldest_us, hu_dcgm_gpu gpu[HU_DCGM_GPUS], char *why, size_t room);
void hu_dcgm_close(hu_dcgm *d);

#endif
