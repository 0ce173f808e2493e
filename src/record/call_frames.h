/* SPDX-License-Identifier: Apache-2.0
 * call_frames.h - where a function's caller lies on the stack, by what compilers write for exceptions (.eh_frame). */
#ifndef HU_RECORD_CALL_FRAMES_H
#define HU_RECORD_CALL_FRAMES_H

#include "base/arena.h"

/* At one instruction of x86-64.  The frame's top is a register plus `top`; the return address lies 8 bytes below it. */
typedef struct {
    bool    is_known;
    bool    is_from_bp; /* the register is rbp, else rsp */
    int32_t top;
    int32_t bp; /* where rbp of the caller lies, beside the top; 0: rbp still holds it */
} hu_call_frame;

typedef struct hu_call_frames hu_call_frames;

/*
 * Tables of a file that is one of this build id (n bytes, 0: not known).  NULL: it cannot be read, is another one by now,
 * has no tables in the usual form, or there is no memory.  `path` ends with a zero.
 */
hu_call_frames *hu_call_frames_open(const char *path, const uint8_t *build_id, size_t n, hu_arena *arena);
void            hu_call_frames_close(hu_call_frames *f);

/* The rule at byte `offset` of the file; not known where no table says it, or says it in a way that is not a sum. */
hu_call_frame hu_call_frames_find(hu_call_frames *f, uint64_t offset);

/* The first byte (an address as symbols have it) of the function with an instruction at `offset`; 0: not known. */
uint64_t hu_call_frames_start(hu_call_frames *f, uint64_t offset);
uint64_t hu_call_frames_start_at(hu_call_frames *f, uint64_t address); /* the same by such an address */

#endif
