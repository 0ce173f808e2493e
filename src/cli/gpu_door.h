/* SPDX-License-Identifier: Apache-2.0
 * gpu_door.h - what became of the recording of GPU work, as sentences at the end of `holdup run`. */
#ifndef HU_CLI_GPU_DOOR_H
#define HU_CLI_GPU_DOOR_H

#include "record/tally.h"

/* Says nothing about programs that used no CUDA, and nothing where all is well. */
void hu_gpu_door_say(const hu_tally *tally, double ticks_per_second);

#endif
