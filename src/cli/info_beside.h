/* SPDX-License-Identifier: Apache-2.0
 * info_beside.h - `holdup info` of what is no trace: reports of Nsight Compute, dumps, samples, logs, sums. */
#ifndef HU_CLI_INFO_BESIDE_H
#define HU_CLI_INFO_BESIDE_H

#include "base/json_out.h"
#include "job/sorted.h"

typedef struct {
    const hu_limits *limits;
    bool             json;
    size_t           width; /* of a line of text */
} hu_info_how;

/* Names a file of this kind, which is not HU_INPUT_RANK.  Returns 0, or the error that keeps it from being read. */
int hu_info_beside(hu_input_kind kind, const char *path, const hu_info_how *how, hu_out *out, hu_error *err);

#endif
