/* SPDX-License-Identifier: Apache-2.0
 * opencl_door.h - what became of the recording of OpenCL, as sentences at the end of `holdup run`. */
#ifndef HU_CLI_OPENCL_DOOR_H
#define HU_CLI_OPENCL_DOOR_H

#include "record/tally.h"

/* Says nothing about programs that enqueued nothing, and nothing where all is well. */
void hu_opencl_door_say(const hu_tally *tally);

#endif
