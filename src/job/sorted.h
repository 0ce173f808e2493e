/* SPDX-License-Identifier: Apache-2.0
 * sorted.h - inputs of one run by what they are: its ranks, and what was recorded beside them. */
#ifndef HU_JOB_SORTED_H
#define HU_JOB_SORTED_H

#include "base/input.h"
#include "job/inputs.h"

typedef enum {
    HU_INPUT_RANK,     /* a trace, a memory snapshot, or what its reader will refuse */
    HU_INPUT_COUNTERS, /* of Nsight Compute */
    HU_INPUT_DUMP,     /* of PyTorch's Flight Recorder */
    HU_INPUT_RAS,      /* an answer of NCCL's RAS subsystem */
    HU_INPUT_NODE,     /* what a monitor sampled */
    HU_INPUT_KINDS,
} hu_input_kind;

/* Each in the order in which they were named; what could not be found is in of[HU_INPUT_RANK].unread. */
typedef struct {
    hu_inputs of[HU_INPUT_KINDS];
} hu_sorted_inputs;

/* By the beginning of each regular file, which its name does not decide.  Lists live in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_inputs_sort(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_sorted_inputs *out, hu_error *err);

/*
 * Reports of Nsight Compute, memory snapshots, dumps and answers of RAS in a directory, by their names and what they
 * begin with; out->n is 0 without.  Returns 0 or HU_ENOMEM.
 */
int hu_inputs_beside_of(const char *folder, const hu_limits *limits, hu_arena *arena, hu_inputs *out, hu_error *err);

/*
 * Adds what lies beside the traces in those of `paths` that are directories: reports of Nsight Compute, memory snapshots and
 * dumps, by their names and what they begin with.  What is in the list already is not added again.  Returns 0 or HU_ENOMEM.
 */
int hu_inputs_add_beside(char **paths, size_t n, const hu_limits *limits, hu_arena *arena, hu_inputs *inputs, hu_error *err);

/* The kind of one file; HU_INPUT_RANK for pipes, which can be read only once. */
hu_input_kind hu_input_kind_of(const char *path, const hu_limits *limits);

#endif
