/* SPDX-License-Identifier: Apache-2.0
 * tracelens.h - the device's timeline as TraceLens computes it, for those who compare. */
#ifndef HU_ANALYZE_TRACELENS_H
#define HU_ANALYZE_TRACELENS_H

#include "analyze/ask.h"

/* computation + exposed_comm + exposed_memcpy + idle = total */
typedef struct {
    int64_t total_ns, busy_ns, idle_ns;
    int64_t computation_ns; /* kernels that are not communication, and sets */
    int64_t comm_ns, exposed_comm_ns;
    int64_t memcpy_ns, exposed_memcpy_ns;
    int64_t left_out, left_out_ns; /* GPU work without a launch in the trace */
} hu_tracelens;

/* Returns 0 or HU_ENOMEM. */
int hu_tracelens_measure(const hu_ask *ask, hu_tracelens *out, hu_error *err);

#endif
