/* SPDX-License-Identifier: Apache-2.0
 * pattern.h - one process group's calls, counted by kind and by when they were started: parallelism is inferred from it. */
#ifndef HU_ANALYZE_PATTERN_H
#define HU_ANALYZE_PATTERN_H

#include "analyze/traffic.h"

enum { HU_PATTERN_SCALAR_BYTES = 64 }; /* losses, norms and flags: no larger call than this counts as a tensor */

/* Tensors of floating point alone; scalars and integers are counted, not taken apart. */
typedef struct {
    int64_t n[HU_SLOT_COUNT][HU_TRAFFIC_COUNT];
    int64_t bytes[HU_SLOT_COUNT][HU_TRAFFIC_COUNT];    /* of the calls that say so */
    int64_t common[HU_SLOT_COUNT][HU_TRAFFIC_COUNT];   /* the size that most calls have; -1 unknown */
    int64_t common_n[HU_SLOT_COUNT][HU_TRAFFIC_COUNT]; /* how many have it */
    int64_t scalars, integers, barriers;
    int64_t orphans; /* calls that were started before the capture began: not in n */
    int64_t tensors; /* all of n */
    int64_t sized;   /* of them, calls with bytes */
    int64_t named;   /* of them, calls whose kind is more than a kernel's name */
    int64_t uneven;  /* all-to-alls with splits that differ */
    int64_t ns, all_bytes;
} hu_pattern;

/* Counts the calls of one group.  False when there is no memory in `scratch`. */
bool hu_pattern_count(const hu_traffic *traffic, const hu_traffic_group *group, hu_arena *scratch, hu_pattern *out);

/* Backward lasts until the optimizer begins (phases.c). */
static inline int64_t hu_pattern_in_backward(const hu_pattern *p, hu_traffic_kind kind)
{
    return p->n[HU_SLOT_BACKWARD][kind];
}

static inline int64_t hu_pattern_in_forward(const hu_pattern *p, hu_traffic_kind kind)
{
    return p->n[HU_SLOT_FORWARD][kind];
}

/* In the optimizer, or behind it or backward. */
static inline int64_t hu_pattern_after(const hu_pattern *p, hu_traffic_kind kind)
{
    return p->n[HU_SLOT_OPTIMIZER][kind] + p->n[HU_SLOT_AFTER][kind];
}

#endif
