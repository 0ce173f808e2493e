/* SPDX-License-Identifier: Apache-2.0
 * unwind.h - the callers nearest to a sample, from registers and the top of the stack that the kernel copied. */
#ifndef HU_RECORD_UNWIND_H
#define HU_RECORD_UNWIND_H

#include "record/perf_read.h"
#include "record/perf_spaces.h"

typedef struct {
    uint64_t    bp, sp;
    const char *stack; /* from sp up; need not be aligned */
    size_t      bytes;
} hu_user_stack;

typedef struct hu_unwind hu_unwind;

/* NULL without memory.  Closes its files in hu_unwind_free, which takes NULL. */
hu_unwind *hu_unwind_new(const hu_perf_files *files, const hu_perf_spaces *spaces, hu_arena *arena);
void       hu_unwind_free(hu_unwind *u);

/*
 * Corrects a chain of addresses of a process, the innermost first, that follows frame pointers: functions that save none
 * hide their caller there.  Returns how many there are then, at most `room`.
 */
size_t hu_unwind_correct(hu_unwind *u, uint32_t pid, const hu_user_stack *user, uint64_t *chain, size_t n, size_t room);

#endif
