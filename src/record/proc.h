/* SPDX-License-Identifier: Apache-2.0
 * proc.h - what /proc says of a process, and the fields of a line of its maps. */
#ifndef HU_RECORD_PROC_H
#define HU_RECORD_PROC_H

#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/str.h"

/* Which process started this one, from "PID (NAME) STATE PPID"; 0: cannot be told. */
pid_t hu_proc_parent(pid_t pid);

/* Takes a hexadecimal number and the sign `end` behind it from the front of a line.  False: there is none. */
bool hu_proc_take_hex(hu_str *line, char end, uint64_t *out);

/* Behind the next blank, and all that follow it. */
void hu_proc_skip_word(hu_str *line);

/* The text of PATH.maps, which the recorder leaves next to PATH.ring; it lives in the arena.  "": there is none that
 * can be read.  p NULL: no memory. */
hu_str hu_proc_read_maps(hu_str ring, hu_arena *arena);

#endif
