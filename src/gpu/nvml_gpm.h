/* SPDX-License-Identifier: Apache-2.0
 * nvml_gpm.h - what the units of a GPU did between two samples of its counters (GPM, Hopper and later).
 *
 * No privilege is needed, and no other tool is shut out, unlike with the counters of older GPUs.
 */
#ifndef HU_GPU_NVML_GPM_H
#define HU_GPU_NVML_GPM_H

#include "gpu/nvml.h"

/* G(id, number, what one unit of the driver's is).  Numbers of nvml.h, the same in API 12.0 to 13.5. */
/* clang-format off */
#define HU_NVML_GPM_VALUES(G)                                     \
    G(GRAPHICS, 1, 0.01)           /* share of time */            \
    G(SM, 2, 0.01)                 /* share of SMs */             \
    G(OCCUPANCY, 3, 0.01)          /* share of warps */           \
    G(TENSOR, 5, 0.01)             /* shares of time */           \
    G(DRAM, 10, 0.01)              /* share of its bandwidth */   \
    G(FP64, 11, 0.01)                                             \
    G(FP32, 12, 0.01)                                             \
    G(FP16, 13, 0.01)                                             \
    G(PCIE_SENT, 20, 1048576.0)    /* bytes per second, the GPU's view */ \
    G(PCIE_RECEIVED, 21, 1048576.0)                               \
    G(NVLINK_RECEIVED, 60, 1048576.0)                             \
    G(NVLINK_SENT, 61, 1048576.0)
/* clang-format on */

typedef enum {
#define G(id, number, unit) HU_GPM_##id,
    HU_NVML_GPM_VALUES(G)
#undef G
        HU_NVML_GPM_COUNT
} hu_nvml_gpm_value;

/* Begin with zeros, and end with hu_nvml_gpm_close() before the library is closed. */
typedef struct {
    void    *sample[2]; /* the one before, and the last */
    int64_t  at_ns;     /* when there was the last one, at the latest; 0: none */
    uint32_t has;       /* bits of `value` */
    double   value[HU_NVML_GPM_COUNT];
    bool     is_denied;
} hu_nvml_gpm;

enum { HU_NVML_GPM_LEAST_NS = 100000000 }; /* between two samples: the driver's own refreshing */

/*
 * Takes a sample of a GPU, or of a GPU instance of it (-1: none), where the last one is HU_NVML_GPM_LEAST_NS old, and works
 * out what happened between the two; before that the values stay.  `now_ns` is CLOCK_MONOTONIC
 * and not later than the call.
 */
hu_nvml_class hu_nvml_gpm_look(hu_nvml *n, const hu_nvml_device *d, int gpu_instance, hu_nvml_gpm *g, int64_t now_ns,
                               int *code);
void          hu_nvml_gpm_close(hu_nvml *n, hu_nvml_gpm *g);

#endif
