/* SPDX-License-Identifier: Apache-2.0
 * jvm.h - processes of Java: the thread that runs the program, and its waits for a time. */
#ifndef HU_ANALYZE_JVM_H
#define HU_ANALYZE_JVM_H

#include "trace/trace.h"

/* Is a process a Java virtual machine?  It has a thread of HotSpot's name for the one that stops all others. */
bool hu_jvm_is(const hu_trace *trace, int64_t pid);

/* Is there one in the trace? */
bool hu_jvm_is_any(const hu_trace *trace);

/*
 * The launcher of Java makes a thread for the program's main() and joins it until the end.  `first` is the track of a
 * process's first thread; returns that of the one which it joins for most of its life, or `first`.
 */
uint32_t hu_jvm_main_thread(const hu_trace *trace, uint32_t first);

#endif
