/* SPDX-License-Identifier: Apache-2.0
 * hot.h - which functions the CPU was in, by samples of its call chains. */
#ifndef HU_ANALYZE_HOT_H
#define HU_ANALYZE_HOT_H

#include "analyze/ask.h"

typedef struct {
    hu_str  name, module; /* "hot_function" of "libhot.so" */
    int64_t self, total;  /* samples in the function itself, and in it or what it called */
    int64_t main_self;    /* of self: on the main thread of a process */
    int64_t kernel;       /* of total: inside the kernel, for it */
} hu_hot_function;

typedef struct {
    int64_t          samples;        /* all */
    int64_t          main_samples;   /* on main threads */
    int64_t          kernel_samples; /* inside the kernel */
    int64_t          processes;      /* that have samples */
    int64_t          sample_ns;      /* CPU time that one stands for; 0 unknown */
    hu_hot_function *at;             /* by self, total, name, module */
    size_t           n;
} hu_hot;

/* Samples of the scope.  Rows live in the arena of `ask`, texts are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_hot_measure(const hu_ask *ask, hu_hot *out, hu_error *err);

/* False for "[libm.so.6]+0x702db": a place, and no function. */
bool hu_hot_has_symbol(hu_str name);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_hot_merge(hu_hot *into, const hu_hot *from, hu_arena *arena);

#endif
