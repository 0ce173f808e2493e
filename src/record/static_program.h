/* SPDX-License-Identifier: Apache-2.0
 * static_program.h - programs into which nothing can be loaded. */
#ifndef HU_RECORD_STATIC_PROGRAM_H
#define HU_RECORD_STATIC_PROGRAM_H

#include <stdbool.h>

/* Is it a program for Linux without an interpreter?  False also where it cannot be read. */
bool hu_is_static_program(const char *path);

#endif
