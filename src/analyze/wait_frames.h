/* SPDX-License-Identifier: Apache-2.0
 * wait_frames.h - Python functions that only wait. */
#ifndef HU_ANALYZE_WAIT_FRAMES_H
#define HU_ANALYZE_WAIT_FRAMES_H

#include "base/arena.h"
#include "trace/trace.h"

typedef enum {
    HU_WAITS_NOT,
    HU_WAITS_FOR_OTHERS, /* a queue, a lock, a condition, a descriptor, another thread or process: somebody else ends it */
    HU_WAITS_FOR_TIME,   /* sleeps */
} hu_wait_frame;

/* hu_wait_frame by string id, for names of Python frames; NULL when there is no memory. */
const uint8_t *hu_wait_frames_classify(const hu_trace *trace, hu_arena *arena);

/* The waits of a Python frame; HU_WAITS_NOT for all other slices. */
static inline hu_wait_frame hu_wait_frame_at(const uint8_t *waits, const hu_slices *s, uint32_t slice)
{
    return s->kind[slice] == HU_KIND_PYTHON ? (hu_wait_frame)waits[s->name[slice]] : HU_WAITS_NOT;
}

#endif
