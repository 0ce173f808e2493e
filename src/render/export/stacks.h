/* SPDX-License-Identifier: Apache-2.0
 * stacks.h - where time goes, by the stack of the host: the tree that flame graphs are drawn from. */
#ifndef HU_RENDER_EXPORT_STACKS_H
#define HU_RENDER_EXPORT_STACKS_H

#include "render/export/export.h"

typedef struct {
    uint32_t above;              /* its place is smaller than this one's; 0 for those right below the root */
    uint32_t frame;              /* a string id, or hu_stacks.n_strings + a track */
    uint32_t depth;              /* frames from the top, this one included */
    int64_t  host_ns, device_ns; /* of this frame itself, without what is below it */
    int64_t  cpu_ns;             /* the same by CPU samples, whose frames are functions; 1 each when not known */
} hu_stack;

typedef struct {
    hu_stack *at; /* at[0] is the root, which is no frame */
    size_t    n;
    uint32_t  n_strings;
    hu_str   *tracks; /* names, by track */
} hu_stacks;

enum { HU_STACKS_DEEPEST = 512 };

/* Lives in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_stacks_build(const hu_export_part *part, hu_arena *arena, hu_stacks *out, hu_error *err);

/* The frames of one stack from the top down; returns how many. */
size_t hu_stacks_path(const hu_stacks *stacks, size_t at, uint32_t frames[HU_STACKS_DEEPEST]);

hu_str hu_stacks_text(const hu_export_part *part, const hu_stacks *stacks, uint32_t frame);

#endif
