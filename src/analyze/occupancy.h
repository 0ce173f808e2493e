/* SPDX-License-Identifier: Apache-2.0
 * occupancy.h - how many blocks of a kernel fit on a multiprocessor of the device at once. */
#ifndef HU_ANALYZE_OCCUPANCY_H
#define HU_ANALYZE_OCCUPANCY_H

#include "trace/trace.h"

/*
 * Blocks of `threads` threads with so many registers per thread and bytes of shared memory that run at once on one
 * multiprocessor.  0 when the compute capability is none that is known (AMD, or newer than this program), or when the
 * block does not fit.
 */
int hu_occupancy_blocks(const hu_device *device, int threads, int registers, int64_t shared_bytes);

#endif
