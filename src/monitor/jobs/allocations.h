/* SPDX-License-Identifier: Apache-2.0
 * allocations.h - what schedulers have given to jobs: GPUs by any of the names that schedulers use for them. */
#ifndef HU_MONITOR_JOBS_ALLOCATIONS_H
#define HU_MONITOR_JOBS_ALLOCATIONS_H

#include "monitor/gpu_board.h"
#include "monitor/jobs/job_owner.h"

typedef enum {
    HU_GPU_BY_UUID,  /* of a GPU or a MIG device */
    HU_GPU_BY_INDEX, /* of the driver's tools */
    HU_GPU_BY_MINOR, /* of the device node, /dev/nvidiaN; the index where the driver does not tell minors */
    HU_GPU_BY_BUS,   /* PCI address */
} hu_gpu_naming;

typedef struct {
    hu_gpu_naming by;
    int32_t       number; /* index or minor */
    int32_t       gi;     /* GPU instance; -1: the GPU, with all of its MIG devices */
    char          text[HU_BOARD_TEXT];
} hu_gpu_name;

typedef struct {
    hu_gpu_name gpu;
    hu_owner    owner;
} hu_allocation;

enum { HU_ALLOCATIONS_MOST = 4096 };

typedef struct {
    hu_allocation *at;
    size_t         n, room;
    bool           is_cut; /* HU_ALLOCATIONS_MOST, or no memory */
} hu_allocations;

void hu_allocations_add(hu_allocations *a, const hu_gpu_name *gpu, const hu_owner *owner);
void hu_allocations_free(hu_allocations *a);

/*
 * Does it name this row of the board?  A whole GPU that is divided names its MIG devices, not itself; its device node
 * names none of them, for whoever has a part needs the node, too.
 */
bool hu_gpu_is_named(const hu_gpu_name *name, const hu_board_state *board, size_t row);

#endif
