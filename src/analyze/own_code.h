/* SPDX-License-Identifier: Apache-2.0
 * own_code.h - the Python function that takes most time itself, of a trace that has nothing but frames. */
#ifndef HU_ANALYZE_OWN_CODE_H
#define HU_ANALYZE_OWN_CODE_H

#include "analyze/ask.h"

/* Of the main thread, over the whole capture. */
typedef struct {
    hu_str  name;   /* as the trace has it, borrowed; "" where operators or GPU work say more, or there are no frames */
    int64_t own_ns; /* without the frames that it calls */
    int64_t all_ns; /* of all functions: what they take in all */
    int64_t calls;
} hu_own_code;

/* Returns 0 or HU_ENOMEM. */
int hu_own_code_find(const hu_ask *ask, hu_own_code *out, hu_error *err);

#endif
