/* SPDX-License-Identifier: Apache-2.0
 * elf_symbols.h - the functions of one ELF file, by their place in it, and its objects. */
#ifndef HU_RECORD_ELF_SYMBOLS_H
#define HU_RECORD_ELF_SYMBOLS_H

#include "base/arena.h"

typedef struct {
    uint64_t value, size; /* size 0: up to the next one */
    uint32_t name;        /* offset in names */
    uint32_t is_local : 1;
    uint32_t is_chosen : 1; /* it chooses one of several functions, which has no symbol (STT_GNU_IFUNC) */
} hu_elf_symbol;

typedef struct {
    uint64_t offset, address, bytes; /* of a part that is loaded: in the file, as symbols have it */
} hu_elf_segment;

typedef struct {
    HU_VEC(hu_elf_symbol) symbols; /* by value */
    HU_VEC(hu_elf_segment) segments;
    char   *names;
    size_t  name_bytes;
    uint8_t build_id[20];
    uint8_t build_id_bytes; /* 0: it has none */
    bool    is_stripped;    /* only what others call has symbols */
} hu_elf_symbols;

/* False: not a 64-bit ELF file of this byte order, not a regular file, or out of memory.  What is damaged is left out. */
bool hu_elf_symbols_read(hu_elf_symbols *out, const char *path, hu_arena *arena);

/* The same of the objects in it: variables that are global or static. */
bool hu_elf_objects_read(hu_elf_symbols *out, const char *path, hu_arena *arena);

/* The name of the object that covers the byte at `distance` from the page that the file's first loaded part begins in, and
 * how far inside of it that byte is; "". */
hu_str hu_elf_objects_find(const hu_elf_symbols *elf, uint64_t distance, uint64_t *inside);

/* The address of byte `offset` of the file, as symbols have it; false: that is not loaded. */
bool hu_elf_symbols_address(const hu_elf_symbols *elf, uint64_t offset, uint64_t *address);

/* The name of the function at byte `offset` of the file; "" when there is none. */
hu_str hu_elf_symbols_find(const hu_elf_symbols *elf, uint64_t offset);

#endif
