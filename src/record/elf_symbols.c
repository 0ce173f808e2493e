/* SPDX-License-Identifier: Apache-2.0
 * elf_symbols.c - reads .symtab, or .dynsym of a stripped file, and what is needed to place it (System V ABI, chapter 4).
 *
 * The file may be anything and may change while it is read: it is read by pread, never mapped; all sizes are held
 * against limits before use, and names against the end of their table.
 */
#include "record/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROGRAM_HEADERS_MAX = 256, SECTIONS_MAX = 65535, CHUNK = 4096, NOTES_MOST = 1 << 16, LOOK_BACK = 16 };

/* The largest libraries of a training job have about 100 MB of names when they are not stripped. */
static const uint64_t TABLE_MOST = UINT64_C(1) << 30, NAMES_MOST = UINT64_C(512) << 20;

typedef struct {
    hu_elf_symbols *out;
    hu_arena       *arena;
    int             fd;
    bool            wants_objects; /* in place of functions */
} reader;

static bool read_at(const reader *r, uint64_t offset, void *to, size_t n)
{
    for (size_t did = 0; did < n;) {
        const ssize_t got = offset > INT64_MAX - n ? 0 : pread(r->fd, (char *)to + did, n - did, (off_t)(offset + did));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        did += (size_t)got;
    }
    return true;
}

/* Notes are {name length, value length, type, name, value}, each padded to 4. */
static void take_notes(reader *r, const Elf64_Phdr *p)
{
    const size_t n = p->p_filesz < NOTES_MOST ? (size_t)p->p_filesz : NOTES_MOST;
    char        *notes = hu_arena_grow(r->arena, NULL, n + 1);

    if (notes && read_at(r, p->p_offset, notes, n)) {
        for (size_t at = 0; n - at >= sizeof(Elf64_Nhdr);) {
            Elf64_Nhdr note;
            size_t     name, value;

            memcpy(&note, notes + at, sizeof note);
            at += sizeof note;
            name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
            value = ((size_t)note.n_descsz + 3) & ~(size_t)3;
            if (name > n - at || value > n - at - name)
                break;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0 &&
                note.n_descsz <= sizeof r->out->build_id) {
                memcpy(r->out->build_id, notes + at + name, note.n_descsz);
                r->out->build_id_bytes = (uint8_t)note.n_descsz;
            }
            at += name + value;
        }
    }
    hu_arena_drop(r->arena, notes);
}

static bool take_segments(reader *r, const Elf64_Ehdr *head)
{
    for (size_t i = 0; i < head->e_phnum && i < PROGRAM_HEADERS_MAX; i++) {
        Elf64_Phdr p;

        if (!read_at(r, head->e_phoff + i * sizeof p, &p, sizeof p))
            return true;
        if (p.p_type == PT_NOTE && r->out->build_id_bytes == 0)
            take_notes(r, &p);
        if (p.p_type == PT_LOAD &&
            !hu_vec_push(r->arena, &r->out->segments, ((hu_elf_segment){p.p_offset, p.p_vaddr, p.p_filesz})))
            return false;
    }
    return true;
}

static bool is_wanted(const reader *r, const Elf64_Sym *s)
{
    const unsigned type = ELF64_ST_TYPE(s->st_info);

    return (r->wants_objects ? type == STT_OBJECT : type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF &&
           s->st_value && s->st_name;
}

static bool take_symbols(reader *r, const Elf64_Shdr *table)
{
    const uint64_t n = table->sh_size / sizeof(Elf64_Sym);
    Elf64_Sym      chunk[CHUNK / sizeof(Elf64_Sym)];

    for (uint64_t i = 0; i < n;) {
        const size_t some = n - i < HU_COUNT(chunk) ? (size_t)(n - i) : HU_COUNT(chunk);

        if (!read_at(r, table->sh_offset + i * sizeof *chunk, chunk, some * sizeof *chunk))
            return true;
        for (size_t k = 0; k < some; k++) {
            const hu_elf_symbol symbol = {chunk[k].st_value, chunk[k].st_size, chunk[k].st_name,
                                          ELF64_ST_BIND(chunk[k].st_info) == STB_LOCAL,
                                          ELF64_ST_TYPE(chunk[k].st_info) == STT_GNU_IFUNC};

            if (is_wanted(r, &chunk[k]) && symbol.name < r->out->name_bytes &&
                !hu_vec_push(r->arena, &r->out->symbols, symbol))
                return false;
        }
        i += some;
    }
    return true;
}

static bool take_names(reader *r, const Elf64_Shdr *names)
{
    if (names->sh_size == 0 || names->sh_size > NAMES_MOST)
        return false;
    r->out->names = hu_arena_grow(r->arena, NULL, (size_t)names->sh_size + 1);
    if (!r->out->names || !read_at(r, names->sh_offset, r->out->names, (size_t)names->sh_size))
        return false;
    r->out->name_bytes = (size_t)names->sh_size;
    r->out->names[r->out->name_bytes] = '\0';
    return true;
}

static bool take_tables(reader *r, const Elf64_Ehdr *head)
{
    Elf64_Shdr best = {.sh_type = SHT_NULL}, s, names;

    for (size_t i = 0; i < head->e_shnum && i < SECTIONS_MAX; i++) {
        if (!read_at(r, head->e_shoff + i * sizeof s, &s, sizeof s))
            break;
        if (s.sh_entsize != sizeof(Elf64_Sym) || s.sh_size > TABLE_MOST || s.sh_link >= head->e_shnum)
            continue;
        if (s.sh_type == SHT_SYMTAB || (s.sh_type == SHT_DYNSYM && best.sh_type == SHT_NULL))
            best = s;
    }
    r->out->is_stripped = best.sh_type != SHT_SYMTAB;
    if (best.sh_type == SHT_NULL || !read_at(r, head->e_shoff + best.sh_link * sizeof names, &names, sizeof names) ||
        !take_names(r, &names))
        return true; /* a file without names */
    return take_symbols(r, &best);
}

/* By value; of several at one place the one that is not local, then the longest, then the first. */
static int compare(const void *a, const void *b)
{
    const hu_elf_symbol *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    if (x->is_local != y->is_local)
        return x->is_local < y->is_local ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

static void keep_one_for_each_place(hu_elf_symbols *out)
{
    size_t n = 0;

    if (out->symbols.n)
        qsort(out->symbols.at, out->symbols.n, sizeof *out->symbols.at, compare);
    for (size_t i = 0; i < out->symbols.n; i++)
        if (n == 0 || out->symbols.at[n - 1].value != out->symbols.at[i].value)
            out->symbols.at[n++] = out->symbols.at[i];
    out->symbols.n = n;
}

static int open_regular(const char *path)
{
    struct stat about;
    const int   fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0 && (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool read_file(hu_elf_symbols *out, const char *path, hu_arena *arena, bool wants_objects)
{
    reader              r = {.out = out, .arena = arena, .fd = open_regular(path), .wants_objects = wants_objects};
    const unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    Elf64_Ehdr          head;
    bool                is_good;

    *out = (hu_elf_symbols){0};
    if (r.fd < 0)
        return false;
    is_good = read_at(&r, 0, &head, sizeof head) && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
              head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_ident[EI_DATA] == order &&
              head.e_phentsize == sizeof(Elf64_Phdr) && (head.e_shnum == 0 || head.e_shentsize == sizeof(Elf64_Shdr)) &&
              take_segments(&r, &head) && take_tables(&r, &head);
    close(r.fd);
    keep_one_for_each_place(out);
    return is_good;
}

bool hu_elf_symbols_read(hu_elf_symbols *out, const char *path, hu_arena *arena)
{
    return read_file(out, path, arena, false);
}

bool hu_elf_objects_read(hu_elf_symbols *out, const char *path, hu_arena *arena)
{
    return read_file(out, path, arena, true);
}

bool hu_elf_symbols_address(const hu_elf_symbols *elf, uint64_t offset, uint64_t *address)
{
    for (size_t i = 0; i < elf->segments.n; i++) {
        const hu_elf_segment *s = &elf->segments.at[i];

        if (offset >= s->offset && offset - s->offset < s->bytes) {
            *address = offset - s->offset + s->address;
            return true;
        }
    }
    return false;
}

static hu_str find(const hu_elf_symbols *elf, uint64_t address, uint64_t *inside)
{
    size_t low = 0, high = elf->symbols.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (elf->symbols.at[middle].value > address)
            high = middle;
        else
            low = middle + 1;
    }
    for (size_t i = low; i > 0 && low - i < LOOK_BACK; i--) { /* one that is inside of another ends earlier */
        const hu_elf_symbol *s = &elf->symbols.at[i - 1];

        if (address - s->value < s->size || (s->size == 0 && i == low)) {
            *inside = address - s->value;
            return hu_str_of(elf->names + s->name);
        }
    }
    return HU_STR("");
}

hu_str hu_elf_symbols_find(const hu_elf_symbols *elf, uint64_t offset)
{
    uint64_t address, inside;

    return hu_elf_symbols_address(elf, offset, &address) ? find(elf, address, &inside) : HU_STR("");
}

hu_str hu_elf_objects_find(const hu_elf_symbols *elf, uint64_t distance, uint64_t *inside)
{
    const uint64_t page = 4095;
    uint64_t       first = UINT64_MAX;

    for (size_t i = 0; i < elf->segments.n; i++)
        if (elf->segments.at[i].address < first)
            first = elf->segments.at[i].address & ~page;
    return first == UINT64_MAX ? HU_STR("") : find(elf, first + distance, inside);
}
