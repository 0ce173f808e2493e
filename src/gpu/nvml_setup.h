/* SPDX-License-Identifier: Apache-2.0
 * nvml_setup.h - how GPUs and their driver are set up: what does not change while a job runs. */
#ifndef HU_GPU_NVML_SETUP_H
#define HU_GPU_NVML_SETUP_H

#include "gpu/nvml.h"

enum { HU_COMPUTE_DEFAULT = 0, HU_COMPUTE_PROHIBITED = 2, HU_COMPUTE_EXCLUSIVE = 3 };
enum {
    HU_PEER_OK,
    HU_PEER_CHIPSET,      /* the chipset cannot */
    HU_PEER_GPU,          /* these GPUs cannot */
    HU_PEER_TOPOLOGY,     /* the way between them cannot */
    HU_PEER_SWITCHED_OFF, /* by a setting of the driver */
    HU_PEER_NOT_SUPPORTED
};

/* What is not known is -1. */
typedef struct {
    int     capability; /* 90: compute capability 9.0 */
    int     ecc_now, ecc_next;
    int     compute_mode;                /* HU_COMPUTE_... */
    int     chosen_mhz, default_mhz;     /* application clocks of the SMs */
    int64_t bar_bytes;                   /* of GPU memory that the host can map at once */
    int     links, links_active, i_down; /* NVLinks that it says anything of, those that are up, the first that is not */
} hu_nvml_setup;

/* The CUDA version of libcuda that a program would load: 13000 is 13.0; -1 not known. */
int hu_nvml_cuda(hu_nvml *n);

void hu_nvml_get_setup(hu_nvml *n, const hu_nvml_device *d, hu_nvml_setup *out);

/* Can `one` read the memory of `other`?  HU_PEER_...; -1 not known. */
int hu_nvml_peer(hu_nvml *n, const hu_nvml_device *one, const hu_nvml_device *other);

#endif
