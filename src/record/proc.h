/* SPDX-License-Identifier: Apache-2.0
 * proc.h - what /proc says of a process, and the fields of a line of its maps. */
#ifndef HU_RECORD_PROC_H
#define HU_RECORD_PROC_H

#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/str.h"

/* What a file of /proc says, at most room - 1 bytes and a NUL; its path is as for printf.  Returns how many bytes; 0: it
 * cannot be read. */
__attribute__((format(printf, 3, 4))) size_t hu_proc_read(char *text, size_t room, const char *format, ...);

/* Signals that a line of /proc/PID/status lists, "SigCgt:" …; bit 0 is signal 1.  0: cannot be told. */
uint64_t hu_proc_signals(pid_t pid, const char *key);

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
