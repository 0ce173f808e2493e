/* SPDX-License-Identifier: Apache-2.0
 * static_program.c - the interpreter of a program is the loader; without one no library is ever loaded. */
#include "record/static_program.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool hu_is_static_program(const char *path)
{
    unsigned char head[4096];
    const int     fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t       n;
    size_t        at, size, count;

    if (fd < 0)
        return false;
    n = read(fd, head, sizeof head);
    close(fd);
    if (n < 64 || memcmp(head, "\177ELF\2", 5) != 0)
        return false;
    at = head[32] | (size_t)head[33] << 8; /* e_phoff, e_phentsize, e_phnum of a 64-bit file */
    size = head[54] | (size_t)head[55] << 8;
    count = head[56] | (size_t)head[57] << 8;
    for (size_t i = 0; i < count && at + i * size + 4 <= (size_t)n; i++)
        if (head[at + i * size] == 3) /* PT_INTERP */
            return false;
    return true;
}
