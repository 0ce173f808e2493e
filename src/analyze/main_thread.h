/* SPDX-License-Identifier: Apache-2.0
 * main_thread.h - which thread of a trace is the one that is explained. */
#ifndef HU_ANALYZE_MAIN_THREAD_H
#define HU_ANALYZE_MAIN_THREAD_H

#include "base/arena.h"
#include "trace/trace.h"

/*
 * The track of the thread on which steps are marked (`names` are the flags of hu_names_classify, `step` is what an
 * annotation that recurs is called; "" none), else of the one that updates the model or holds the program's outermost Python
 * frame, else of the one with most launches, where a thread of the autograd engine comes last and the process's first thread
 * first if it launches a quarter as much; else the main thread of the job where calls of the system were recorded, else the
 * one with most to do.  HU_NONE: there is none, or no memory.
 */
uint32_t hu_main_thread_find(const hu_trace *trace, const uint8_t *names, hu_str step, hu_arena *scratch);

/*
 * The main thread of the process that started the others: the recorded command where that lives for nearly all of the
 * capture, else the one that waits for its children for half of it, else the one that lives longest.  HU_NONE: no thread did
 * anything, or there is no memory.
 */
uint32_t hu_main_thread_of_job(const hu_trace *trace, hu_arena *scratch);

/* One process: what its host threads span, and its main thread. */
typedef struct {
    int64_t  pid;
    int64_t  first_ns, last_ns; /* of all its host threads */
    int64_t  child_ns;          /* that its threads wait for child processes */
    int64_t  main_ns;           /* when its main thread begins */
    uint32_t main;    /* track: the thread with the number of the process, else the first that begins; of Java the one
                                   that runs main() */
    uint32_t name;    /* string id; 0 none */
    uint32_t threads; /* that did anything */
} hu_process_span;

/* All processes with numbers, by number.  Lives in `scratch`.  False when there is no memory. */
bool hu_main_thread_processes(const hu_trace *trace, hu_arena *scratch, hu_process_span **out, size_t *n);

#endif
