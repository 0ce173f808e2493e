/* SPDX-License-Identifier: Apache-2.0
 * code_owner.h - whose code a sample shows: the program's, or that of a library, a runtime or an interpreter below it. */
#ifndef HU_ANALYZE_CODE_OWNER_H
#define HU_ANALYZE_CODE_OWNER_H

#include "trace/trace.h"

typedef enum {
    HU_CODE_NATIVE,
    HU_CODE_GO,     /* its runtime is in the program */
    HU_CODE_JIT,    /* made while the program runs, and nobody wrote its names */
    HU_CODE_PYTHON, /* the interpreter: which Python function it runs is not in the samples */
} hu_code_kind;

/*
 * The link of a call chain (both 1 + row, as samples store it) that a sample counts for: the innermost function of the
 * program, where code can be changed; where none of it is known, the innermost one of a library.  The interpreter and
 * compiled code without names are one thing each; other code without a name is nobody's, and so is waiting in a library of
 * OpenMP.  0: nobody's.
 */
uint32_t hu_code_owner(const hu_trace *trace, uint32_t number);

/* Links with the same key are of the same owner: string ids of function and module, HU_NONE << 32 for one without names. */
uint64_t hu_code_key(const hu_trace *trace, uint32_t number);

/* Libraries that every program has, and the kernel: nobody changes code there. */
bool hu_code_is_system(hu_str module);

/* Libraries of OpenMP: a thread computes there while it waits for the others. */
bool hu_code_is_openmp(hu_str module);

/* Memory of no file, into which a JIT wrote. */
bool hu_code_is_jit(hu_str module);

/* Of a function, "" or "[module]+0x…" for one without a name, and its module. */
hu_code_kind hu_code_kind_of(hu_str name, hu_str module);

#endif
