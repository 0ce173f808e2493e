/* SPDX-License-Identifier: Apache-2.0
 * precision.h - whether operators work on numbers of fewer than 32 bits, by the types of their inputs. */
#ifndef HU_ANALYZE_PRECISION_H
#define HU_ANALYZE_PRECISION_H

#include "base/arena.h"
#include "trace/trace.h"

typedef enum {
    HU_PRECISION_UNSAID, /* no floats among the inputs, or no types recorded */
    HU_PRECISION_LOW,
    HU_PRECISION_FULL,
} hu_precision;

/* hu_precision by string id, for the types of operators' inputs; NULL when there is no memory. */
const uint8_t *hu_precision_classify(const hu_trace *trace, hu_arena *arena);

#endif
