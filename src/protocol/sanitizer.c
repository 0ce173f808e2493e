/* SPDX-License-Identifier: Apache-2.0
 * sanitizer.c - DT_NEEDED of a 64-bit ELF file, some 5 us: it is read before each exec. */
#include "protocol/sanitizer.h"

#include <elf.h>
#include <string.h>

enum { HEAD_BYTES = 2048, ENTRIES = 64, MOST_ENTRIES = 1024, MOST_NEEDED = 64, SCRIPT_BYTES = 256 };

typedef struct {
    const hu_file_reader *reader;
    int                   fd;
    unsigned char         head[HEAD_BYTES];
    size_t                n;
    Elf64_Ehdr            elf;
} file;

static const char *const libraries[] = {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so"};

/* How many bytes the name of a sanitizer has; 0: it is none. */
static size_t name_bytes(const char *text)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strncmp(text, libraries[i], strlen(libraries[i])) == 0)
            return strcspn(text, " :");
    return 0;
}

size_t hu_sanitizer_put(const char *preload)
{
    const size_t n = name_bytes(preload);

    return n > 0 && strncmp(preload + n, HU_SANITIZER_MARK, 2) == 0 ? n + 2 : 0;
}

static bool segment(const file *f, size_t i, Elf64_Phdr *out)
{
    const uint64_t at = f->elf.e_phoff + i * sizeof *out;

    if (f->elf.e_phentsize != sizeof *out || at > f->n || f->n - at < sizeof *out)
        return false;
    memcpy(out, f->head + at, sizeof *out);
    return true;
}

/* Where in the file an address lies; 0: nowhere. */
static uint64_t place_of(const file *f, uint64_t address)
{
    Elf64_Phdr s;

    for (size_t i = 0; i < f->elf.e_phnum && segment(f, i, &s); i++)
        if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
            return s.p_offset + (address - s.p_vaddr);
    return 0;
}

/* The names that are needed, as offsets in the table of texts; how many. */
static size_t list_needed(const file *f, const Elf64_Phdr *dynamic, uint64_t *names, uint64_t *table)
{
    Elf64_Dyn entries[ENTRIES];
    size_t    n = 0;

    *table = 0;
    for (size_t from = 0; from < MOST_ENTRIES; from += ENTRIES) {
        const long got = f->reader->read_at(f->fd, entries, sizeof entries,
                                            (int64_t)(dynamic->p_offset + from * sizeof *entries));

        for (long i = 0; i < got / (long)sizeof *entries; i++) {
            if (entries[i].d_tag == DT_NULL)
                return n;
            if (entries[i].d_tag == DT_STRTAB)
                *table = entries[i].d_un.d_ptr;
            if (entries[i].d_tag == DT_NEEDED && n < MOST_NEEDED)
                names[n++] = entries[i].d_un.d_val;
        }
        if (got < (long)sizeof entries)
            return n;
    }
    return n;
}

static void look_through(const file *f, char out[HU_SANITIZER_BYTES])
{
    uint64_t   names[MOST_NEEDED], table, place;
    Elf64_Phdr s = {0};
    size_t     n;

    for (size_t i = 0; s.p_type != PT_DYNAMIC; i++)
        if (i >= f->elf.e_phnum || !segment(f, i, &s))
            return;
    n = list_needed(f, &s, names, &table);
    place = place_of(f, table);
    for (size_t i = 0; i < n && place; i++) {
        char name[HU_SANITIZER_BYTES] = "";

        if (f->reader->read_at(f->fd, name, sizeof name - 1, (int64_t)(place + names[i])) <= 0 || name_bytes(name) == 0 ||
            strlen(name) != name_bytes(name))
            continue;
        memcpy(out, name, sizeof name);
        return;
    }
}

/* False: it cannot be read. */
static bool read_head(const hu_file_reader *reader, const char *path, file *f)
{
    long n;

    *f = (file){.reader = reader, .fd = reader->open(path)};
    if (f->fd < 0)
        return false;
    n = reader->read_at(f->fd, f->head, sizeof f->head - 1, 0); /* it ends in NUL */
    f->n = n > 0 ? (size_t)n : 0;
    if (f->n >= sizeof f->elf)
        memcpy(&f->elf, f->head, sizeof f->elf);
    return true;
}

/* "#! /bin/sh -e": its program, into `to` of SCRIPT_BYTES. */
static bool interpreter(const file *f, char *to)
{
    const char *at = (const char *)f->head + 2;
    size_t      n;

    if (f->head[0] != '#' || f->head[1] != '!')
        return false;
    at += strspn(at, " \t");
    n = strcspn(at, " \t\n");
    if (at[0] != '/' || n >= SCRIPT_BYTES)
        return false;
    memcpy(to, at, n);
    to[n] = '\0';
    return true;
}

void hu_sanitizer_of(const hu_file_reader *reader, const char *path, char out[HU_SANITIZER_BYTES])
{
    char script[SCRIPT_BYTES];
    file f;

    memset(out, 0, HU_SANITIZER_BYTES);
    if (!read_head(reader, path, &f))
        return;
    if (interpreter(&f, script)) {
        reader->close(f.fd);
        if (!read_head(reader, script, &f))
            return;
    }
    if (f.n >= sizeof f.elf && memcmp(f.elf.e_ident, ELFMAG, SELFMAG) == 0 && f.elf.e_ident[EI_CLASS] == ELFCLASS64)
        look_through(&f, out);
    reader->close(f.fd);
}
