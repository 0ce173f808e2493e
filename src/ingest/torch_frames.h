/* SPDX-License-Identifier: Apache-2.0
 * torch_frames.h - the code behind a record of a memory snapshot, from its list of frames. */
#ifndef HU_INGEST_TORCH_FRAMES_H
#define HU_INGEST_TORCH_FRAMES_H

#include "base/map.h"
#include "base/pickle.h"
#include "trace/builder.h"

typedef struct {
    uint32_t name;  /* string id of the frame that says most; 0 unknown */
    uint32_t stack; /* 1 + row of a cpu stack: the user's Python frames, then the operator; 0 unknown */
    uint8_t  phase; /* hu_memory_phase */
} hu_torch_site;

/* What one frame says; the same frame is in thousands of lists. */
typedef struct {
    uint32_t name;            /* string id, as people read it */
    hu_str   node, operation; /* of compiled code: the node of autograd, the operator; "" none */
    bool     is_python, is_users, is_backward, is_optimizer;
} hu_torch_frame;

typedef struct {
    hu_builder *b;
    hu_arena   *arena;
    hu_map      known; /* a list of frames -> place in sites */
    HU_VEC(hu_torch_site) sites;
    hu_map frame_of; /* a frame -> place in frames */
    HU_VEC(hu_torch_frame) frames;
} hu_torch_frames;

/* False when there is no memory. */
bool hu_torch_frames_init(hu_torch_frames *f, hu_builder *b, hu_arena *arena);

/* `frames` from the innermost on; NULL is nothing known.  A list is looked at once, however many records share it. */
hu_torch_site hu_torch_frames_site(hu_torch_frames *f, const hu_value *frames);

#endif
