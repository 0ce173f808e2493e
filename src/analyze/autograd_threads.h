/* SPDX-License-Identifier: Apache-2.0
 * autograd_threads.h - which host threads belong to the autograd engine. */
#ifndef HU_ANALYZE_AUTOGRAD_THREADS_H
#define HU_ANALYZE_AUTOGRAD_THREADS_H

#include "base/arena.h"
#include "trace/trace.h"

/*
 * By track, 1 for a thread on which nothing but backward runs: the engine has one for each device, and none starts anything
 * by itself.  A thread that also runs forward operators is none, such as the only thread of a job without a device.  Lives
 * in `arena`; NULL when there is no memory.
 */
uint8_t *hu_autograd_threads_find(const hu_trace *trace, hu_arena *arena);

#endif
