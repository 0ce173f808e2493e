/* SPDX-License-Identifier: Apache-2.0
 * perf_stacks.h - modules, frames and call chains, each kept once. */
#ifndef HU_RECORD_PERF_STACKS_H
#define HU_RECORD_PERF_STACKS_H

#include "record/perf_read.h"
#include "record/perf_spaces.h"
#include "record/unwind.h"

typedef struct {
    hu_perf_files  *files;
    hu_perf_spaces *spaces;
    hu_map          module_of, frame_of, stack_of;
    hu_unwind      *unwind;
    uint32_t        kernel, unknown; /* modules */
} hu_perf_stacks;

/* Frees what it holds open when it is no longer needed: hu_perf_stacks_done. */
bool hu_perf_stacks_init(hu_perf_stacks *s, hu_perf_files *files, hu_perf_spaces *spaces, hu_arena *arena);

/* What a mapping of this name is. */
hu_module_kind hu_perf_stacks_kind(hu_str name);

/* The module of a mapping, made when it is new; UINT32_MAX without memory. */
uint32_t hu_perf_stacks_module(hu_perf_stacks *s, const hu_perf_module *module);

/*
 * The stack of a call chain as perf has it: innermost first, with PERF_CONTEXT_* marks between; n numbers of 8 bytes
 * at `chain`, which need not be aligned.  `user`: what was copied of the stack, NULL nothing.  0: nothing is in it.
 * UINT32_MAX without memory.
 */
uint32_t hu_perf_stacks_chain(hu_perf_stacks *s, uint32_t pid, const char *chain, size_t n, const hu_user_stack *user,
                              bool is_kernel);

void hu_perf_stacks_done(hu_perf_stacks *s);

#endif
