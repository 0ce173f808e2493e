/* SPDX-License-Identifier: Apache-2.0
 * kind.h - what a file is to a report: a rank of the job, or something that was recorded beside it. */
#ifndef HU_JOB_KIND_H
#define HU_JOB_KIND_H

#include "base/input.h"

typedef enum {
    HU_INPUT_RANK,      /* a trace, a memory snapshot, or what its reader will refuse */
    HU_INPUT_COUNTERS,  /* of Nsight Compute */
    HU_INPUT_DUMP,      /* of PyTorch's Flight Recorder */
    HU_INPUT_RAS,       /* an answer of NCCL's RAS subsystem */
    HU_INPUT_LOG,       /* what a training program or NCCL printed */
    HU_INPUT_SUMS,      /* tables of nsys stats */
    HU_INPUT_RESULTS,   /* of benchmarks, and sampled memory: told alone */
    HU_INPUT_PROFILE,   /* profiles that sum stacks: told alone */
    HU_INPUT_NODE,      /* what a monitor sampled */
    HU_INPUT_EXECUTION, /* of PyTorch or Chakra, without a trace that it could be joined to */
    HU_INPUT_KINDS,
} hu_input_kind;

/* What can be opened twice: no pipe, and "-" only where standard input is a file. */
bool hu_input_is_file(const char *path);

/* The kind of one file; HU_INPUT_RANK for pipes, which can be read only once. */
hu_input_kind hu_input_kind_of(const char *path, const hu_limits *limits);

/* The same where a text that nobody knows is a log, whatever is in it. */
hu_input_kind hu_input_kind_of_text(const char *path, const hu_limits *limits);

/* The same of an open input, which may be used up by it. */
hu_input_kind hu_input_kind_of_open(hu_input *in, bool any_text);

#endif
