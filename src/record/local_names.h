/* SPDX-License-Identifier: Apache-2.0
 * local_names.h - functions that a stripped file has no symbols for. */
#ifndef HU_RECORD_LOCAL_NAMES_H
#define HU_RECORD_LOCAL_NAMES_H

#include "record/elf_symbols.h"

#define HU_DEBUG_FOLDER "/usr/lib/debug/.build-id" /* where distributions put what they strip off */

typedef struct hu_local_names hu_local_names;

/* `folder`: of debug files by build id; it is borrowed.  NULL: no memory. */
hu_local_names *hu_local_names_new(const char *folder, hu_arena *arena);

/* Closes its files; NULL is fine. */
void hu_local_names_free(hu_local_names *l);

/*
 * The function at byte `offset` of a file that has no symbol there: by the debug file of its build id; else in a library
 * that this program has loaded too, the name by which others call what it chose for this CPU ("strlen", and of one function
 * with several names "memcpy/memmove").  "": not known.
 */
hu_str hu_local_names_find(hu_local_names *l, hu_str path, const hu_elf_symbols *file, uint64_t offset);

#endif
