/* SPDX-License-Identifier: Apache-2.0
 * elf_lines.h - source lines by address, from the line table of an ELF file that was built with -g. */
#ifndef HU_RECORD_ELF_LINES_H
#define HU_RECORD_ELF_LINES_H

#include "base/arena.h"

typedef struct {
    hu_str table, line_texts, texts; /* .debug_line, .debug_line_str, .debug_str; .n 0: not there */
} hu_elf_lines;

/* All is empty where the file cannot be read, has no line table, or keeps it compressed or in another file.  What is in
 * `arena` is borrowed by what hu_elf_lines_find returns. */
void hu_elf_lines_read(hu_elf_lines *out, const char *path, hu_arena *arena);

/* The line of the code at an address of the file, as its symbols have it, and the last part of its file's name; of code
 * that the compiler gave no line, that of the code before it.  False: not known.  DWARF versions 2 to 5 (DWARF 5, section
 * 6.2). */
bool hu_elf_lines_find(const hu_elf_lines *lines, uint64_t address, hu_str *file, uint64_t *line);

#endif
