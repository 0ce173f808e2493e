/* SPDX-License-Identifier: Apache-2.0
 * elf_runtime.h - what an executable file says about how its threads are run. */
#ifndef HU_RECORD_ELF_RUNTIME_H
#define HU_RECORD_ELF_RUNTIME_H

#include <stdbool.h>

typedef struct {
    bool is_64_bit; /* of this byte order: its calls have the numbers of this machine */
    bool is_go;     /* it has Go's section .go.buildinfo */
} hu_elf_runtime;

/* Reads the headers of an open file.  All false where it is no ELF file, or damaged. */
hu_elf_runtime hu_elf_runtime_read(int fd);

#endif
