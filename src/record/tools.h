/* SPDX-License-Identifier: Apache-2.0
 * tools.h - profilers and debuggers that run the program in question: `holdup run -- nsys profile ./a.out` is about
 * a.out. */
#ifndef HU_RECORD_TOOLS_H
#define HU_RECORD_TOOLS_H

#include "record/processes.h"

/*
 * Marks the processes of a tool that the command is, and of what it started under a tool's name.  None where nothing else
 * is left.  Returns how many; *program is the last image of the process that they ran longest: the run is its life.
 */
size_t hu_tools_mark(hu_process_list *list, const hu_process_image **program);

/* Of a process of a tool, the tool's: nsys gives its threads names, and a child has that of the thread which forked it. */
hu_str hu_tools_name(const hu_process_image *p);

/* Are all images of this process a tool's? */
bool hu_tools_are_all_of(const hu_process_list *list, uint32_t pid);

#endif
