/* SPDX-License-Identifier: Apache-2.0
 * elf_runtime.c - the header, the table of sections and their names: three small reads of a file that may be hostile. */
#include "record/elf_runtime.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

enum { MOST_SECTIONS = 128, NAMES_MOST = 8192 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { OWN_ORDER = ELFDATA2LSB };
#else
enum { OWN_ORDER = ELFDATA2MSB };
#endif

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
    return at < INT64_MAX / 2 && pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

static bool has_section(int fd, const Elf64_Ehdr *head, const char *wanted)
{
    Elf64_Shdr   sections[MOST_SECTIONS];
    char         names[NAMES_MOST];
    const size_t n = head->e_shnum < MOST_SECTIONS ? head->e_shnum : MOST_SECTIONS;
    size_t       bytes;

    if (head->e_shentsize != sizeof *sections || head->e_shstrndx >= n ||
        !read_at(fd, sections, n * sizeof *sections, head->e_shoff))
        return false;
    bytes = sections[head->e_shstrndx].sh_size;
    bytes = bytes < sizeof names - 1 ? bytes : sizeof names - 1;
    if (!read_at(fd, names, bytes, sections[head->e_shstrndx].sh_offset))
        return false;
    names[bytes] = '\0';
    for (size_t i = 0; i < n; i++)
        if (sections[i].sh_name < bytes && strcmp(names + sections[i].sh_name, wanted) == 0)
            return true;
    return false;
}

hu_elf_runtime hu_elf_runtime_read(int fd)
{
    Elf64_Ehdr     head;
    hu_elf_runtime found = {0};

    if (!read_at(fd, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return found;
    found.is_64_bit = head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_ident[EI_DATA] == OWN_ORDER;
    found.is_go = found.is_64_bit && has_section(fd, &head, ".go.buildinfo");
    return found;
}
