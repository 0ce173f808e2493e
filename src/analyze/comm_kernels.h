/* SPDX-License-Identifier: Apache-2.0
 * comm_kernels.h - kernels that communicate without saying so in their name, known by the call that launched them. */
#ifndef HU_ANALYZE_COMM_KERNELS_H
#define HU_ANALYZE_COMM_KERNELS_H

#include "base/arena.h"
#include "trace/trace.h"

/*
 * Kinds of all slices of a trace, where kernels known this way are collectives: hu_slices.kind itself when there is none,
 * else a copy in `scratch`.  NULL when there is no memory.
 */
const uint8_t *hu_comm_kernels_find(const hu_trace *trace, hu_arena *scratch);

/* Is it the name of an operator or annotation of the framework around a collective? */
bool hu_comm_kernels_is_call(hu_str name);

#endif
