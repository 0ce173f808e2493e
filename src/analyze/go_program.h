/* SPDX-License-Identifier: Apache-2.0
 * go_program.h - a program whose runtime schedules goroutines on its threads: what can be said of it from its threads. */
#ifndef HU_ANALYZE_GO_PROGRAM_H
#define HU_ANALYZE_GO_PROGRAM_H

#include "analyze/thread_states.h"

typedef struct {
    bool    is_go;
    double  nobody_ns;               /* of its life, while no thread of it ran or waited for a CPU; NaN not known */
    hu_str  caller;                  /* the function of the program for which the kernel was entered most; "" not known */
    hu_str  call;                    /* by which system call: "write"; "" not known */
    int64_t caller_samples;          /* CPU samples inside the kernel for it, */
    int64_t call_samples;            /* of these: in a system call that has a name */
    int64_t caller_all;              /* of that function and what it calls below itself, in the kernel or not */
    int64_t kernel_samples, samples; /* of all inside the kernel, and of all of the process */
} hu_go_program;

/* Did `holdup run` say that this process is one? */
bool hu_go_program_is(const hu_ask *ask, int64_t pid);

/* Of the process `pid`, as `holdup run` says that it is one.  All zero where it is none.  Texts are borrowed from the trace.
   False: no memory. */
bool hu_go_program_measure(const hu_thread_asker *asker, int64_t pid, hu_go_program *out);

#endif
