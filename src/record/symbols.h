/* SPDX-License-Identifier: Apache-2.0
 * symbols.h - the function at a place of a program: by the symbol tables of ELF files and by the maps of JITs. */
#ifndef HU_RECORD_SYMBOLS_H
#define HU_RECORD_SYMBOLS_H

#include "base/arena.h"

typedef struct hu_symbols hu_symbols;

/* All files are read when first asked for, and once.  NULL when there is no memory. */
hu_symbols *hu_symbols_new(hu_arena *arena);

/* Closes what C++ names need; the rest is the arena's.  NULL is fine. */
void hu_symbols_free(hu_symbols *symbols);

/*
 * The function that covers byte `offset` of the file; "" when it has no symbol there, cannot be read, or is another
 * file by now: `build_id` (n bytes, 0: not known) differs.  C++ names are demangled where libstdc++ is.
 */
hu_str hu_symbols_find(hu_symbols *symbols, hu_str path, const uint8_t *build_id, size_t n, uint64_t offset);

/* The address of byte `offset` of the file as its symbols, and addr2line, have it; false: not known. */
bool hu_symbols_address(hu_symbols *symbols, hu_str path, uint64_t offset, uint64_t *address);

/* "solve.c:12" of the code at byte `offset` of the file, where that was built with -g; "". */
hu_str hu_symbols_find_line(hu_symbols *symbols, hu_str path, uint64_t offset);

/* The global or static object that covers an address of the file as loaded, counted from its first part, and how far inside
 * of it; "" as above. */
hu_str hu_symbols_find_object(hu_symbols *symbols, hu_str path, uint64_t distance, uint64_t *inside);

/* The function at an address of process `pid` by /tmp/perf-PID.map, when that is a file of this user; "" else. */
hu_str hu_symbols_find_jit(hu_symbols *symbols, uint32_t pid, uint64_t address);

/* "f(int)" of "_Z1fi", where libstdc++ is; '\0' is behind the name, and behind the result. */
hu_str hu_symbols_demangle(hu_symbols *symbols, hu_str name);

#endif
