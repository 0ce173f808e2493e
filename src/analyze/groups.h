/* SPDX-License-Identifier: Apache-2.0
 * groups.h - what tells operators of one name apart: input shapes, the Python stack, or the nn.Module they run in. */
#ifndef HU_ANALYZE_GROUPS_H
#define HU_ANALYZE_GROUPS_H

#include "analyze/ask.h"

typedef enum { HU_GROUP_NAME, HU_GROUP_SHAPES, HU_GROUP_STACK, HU_GROUP_MODULE } hu_grouping;

enum { HU_GROUP_FRAMES = 64 }; /* the most frames of a stack that can be told apart */

/* A key that is equal for slices of one group; `frames` is how many innermost frames of a stack count. */
uint64_t hu_group_key(const hu_ask *ask, hu_grouping grouping, int frames, uint32_t slice);

/*
 * What to call the group: shapes as recorded; frames from the innermost on, joined by " < ", those of torch itself only
 * where there are no others; modules from the outermost
 * on, joined by "/".  Of backward work the forward operator's, with " (backward)" behind it.  Empty where the trace does
 * not say.  Lives in `arena` or is borrowed from the trace; p is NULL when there is no memory.
 */
hu_str hu_group_text(const hu_ask *ask, hu_grouping grouping, int frames, uint32_t slice, hu_arena *arena);

#endif
