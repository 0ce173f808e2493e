/* SPDX-License-Identifier: Apache-2.0
 * critical_code.h - in which function the job computes while nothing else holds it up, by CPU samples. */
#ifndef HU_ANALYZE_CRITICAL_CODE_H
#define HU_ANALYZE_CRITICAL_CODE_H

#include "analyze/ask.h"
#include "analyze/code_owner.h"

/* Samples on the critical path.  One of k threads that run at once, while the main one waits for them, counts 1/k. */
typedef struct {
    double       samples, error; /* all of them; the standard error of a share of a half, in samples */
    int64_t      taken;          /* the same, not weighed */
    double       all_at_once;    /* of them: while several threads ran */
    int64_t      window_ns;      /* the time that is explained */
    double       run_ns;         /* of it, that is computed: by the main thread, or by others while it waits for them */
    double       wants_ns;       /* of it, that is waited for a CPU, in the same way */
    hu_str       name, module;   /* the function with most; "" there is none */
    double       own, inside; /* samples in it, or in the system's libraries or a runtime on its behalf; inside of it only */
    double       kernel;      /* of `own`: inside the kernel */
    double       elsewhere;   /* of `own`: on other threads than the main one */
    double       at_once;     /* of `own`: while several threads ran */
    int64_t      threads;     /* that run in it */
    hu_str       leaf, leaf_module; /* what most of `own` is in, that is not inside of it; "" none */
    double       in_leaf;
    hu_str       caller; /* the function that calls it most; "" not known */
    double       from_caller;
    hu_code_kind kind;
    bool         is_jit; /* made while the program runs, with or without names */
} hu_critical_code;

/*
 * Of the window of a host track.  Without the switches of the scheduler only its own samples count.  Texts are borrowed from
 * the trace or live in the arena of `ask`.  False: no memory.
 */
bool hu_critical_code_measure(const hu_ask *ask, uint32_t main, hu_interval window, hu_critical_code *out);

#endif
