/* SPDX-License-Identifier: Apache-2.0
 * terminal.h - how wide what is printed may be, and whether in colour: one answer for all commands. */
#ifndef HU_CLI_TERMINAL_H
#define HU_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

enum { HU_TERMINAL_PLAIN = 80 }; /* columns where nobody says otherwise */

/*
 * Columns for text on `fd`, or in the file `path` (NULL: on fd): those of $COLUMNS, which counts for a file or a pipe too,
 * else the terminal's up to 160, else HU_TERMINAL_PLAIN.
 */
size_t hu_terminal_width(int fd, const char *path);

/* The same of messages: 0 where `fd` is no terminal, because a line of a file or a pipe is looked for as a whole. */
size_t hu_terminal_width_of_talk(int fd);

/* `when` is an HU_COLOR_*.  Without a wish: on a terminal that can, unless $NO_COLOR is set. */
bool hu_terminal_has_color(int fd, const char *path, int when);

#endif
