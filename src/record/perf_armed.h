/* SPDX-License-Identifier: Apache-2.0
 * perf_armed.h - what is kept of the kernel's records while nothing is recorded: a run may be armed, or paused, for days.
 *
 * Processes, names and mappings are kept, since no later sample has a name without them.  Samples and switches are not, but
 * for the last switch of each thread: it says whether the thread runs or waits when the recording begins.
 */
#ifndef HU_RECORD_PERF_ARMED_H
#define HU_RECORD_PERF_ARMED_H

#include "base/arena.h"

typedef struct hu_perf_armed hu_perf_armed;

/* On the arena, as all that it remembers; NULL: no memory. */
hu_perf_armed *hu_perf_armed_new(hu_arena *arena);

/* Moves what is kept of `n` bytes of whole records of a CPU's ring together; how many bytes are left, and *records of
   them. */
size_t hu_perf_armed_keep(hu_perf_armed *a, uint32_t cpu, char *bytes, size_t n, uint64_t *records);

/* The recording begins: the last switches that were made on this CPU, in the order of time, *n bytes and *records of
   them, until the next call.  They are forgotten. */
const char *hu_perf_armed_take(hu_perf_armed *a, uint32_t cpu, size_t *n, uint64_t *records);

#endif
