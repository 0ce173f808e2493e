/* SPDX-License-Identifier: Apache-2.0
 * elf_lines.c - runs the line number programs of a file until one has a row for the address (DWARF 5, section 6.2).
 *
 * The file may be anything: each read is held against the end of its unit, and one beyond it ends the unit.
 */
#include "record/elf_lines.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTIONS_MAX = 65535, FORMATS_MAX = 16, OPCODES = 256 };

static const uint64_t SECTION_MOST = UINT64_C(256) << 20;

/* clang-format off */
enum { PATH = 1 };                                                              /* DW_LNCT_* */
enum { BLOCK = 0x09, DATA1 = 0x0b, DATA2 = 0x05, DATA4 = 0x06, DATA8 = 0x07, DATA16 = 0x1e, STRING = 0x08, STRP = 0x0e,
       UDATA = 0x0f, LINE_STRP = 0x1f };                                        /* DW_FORM_* */
enum { EXTENDED, COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, SET_COLUMN, NEGATE, BASIC_BLOCK, CONST_ADD_PC, FIXED_ADVANCE_PC };
enum { END_SEQUENCE = 1, SET_ADDRESS };                                         /* DW_LNE_* */
/* clang-format on */

typedef struct {
    const uint8_t *p, *end;
    bool           is_bad;
} cursor;

static uint64_t take(cursor *c, size_t n)
{
    uint64_t value = 0;

    if ((size_t)(c->end - c->p) < n) {
        c->is_bad = true;
        c->p = c->end;
        return 0;
    }
    for (size_t i = 0; i < n && i < 8; i++)
        value |= (uint64_t)c->p[i] << (8 * i);
    c->p += n;
    return value;
}

/* LEB128.  The bits behind the number's own are those of its sign, if it has one. */
static uint64_t take_leb(cursor *c, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t  byte;

    do {
        byte = (uint8_t)take(c, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !c->is_bad);
    return is_signed && shift < 64 && byte & 0x40 ? value | UINT64_MAX << shift : value;
}

static uint64_t take_unsigned(cursor *c)
{
    return take_leb(c, false);
}

/* As a number that is added: two's complement. */
static uint64_t take_signed(cursor *c)
{
    return take_leb(c, true);
}

static hu_str take_text(cursor *c)
{
    const uint8_t *zero = c->p < c->end ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;
    hu_str         text = HU_STR("");

    if (!zero) {
        c->is_bad = true;
        c->p = c->end;
        return text;
    }
    text = (hu_str){(const char *)c->p, (size_t)(zero - c->p)};
    c->p = zero + 1;
    return text;
}

static hu_str text_at(hu_str section, uint64_t offset)
{
    const char *zero = offset < section.n ? memchr(section.p + offset, 0, section.n - (size_t)offset) : NULL;

    return zero ? (hu_str){section.p + offset, (size_t)(zero - section.p) - (size_t)offset} : HU_STR("");
}

typedef struct {
    const hu_elf_lines *lines;
    cursor              files; /* where their names begin */
    unsigned            version, offset_bytes;
    uint8_t             step, line_range, opcode_base; /* step: bytes of an instruction */
    int8_t              line_base;
    uint8_t             arguments[OPCODES];
} unit;

/* A value in one of the forms that may stand in a table of files; its text, if it is one. */
static hu_str take_form(const unit *u, cursor *c, uint64_t form)
{
    switch (form) {
    case STRING:
        return take_text(c);
    case LINE_STRP:
        return text_at(u->lines->line_texts, take(c, u->offset_bytes));
    case STRP:
        return text_at(u->lines->texts, take(c, u->offset_bytes));
    case UDATA:
        take_unsigned(c);
        break;
    case DATA1:
    case DATA2:
    case DATA4:
    case DATA8:
        take(c, form == DATA1 ? 1 : form == DATA2 ? 2 : form == DATA4 ? 4 : 8);
        break;
    case DATA16:
        take(c, 16);
        break;
    case BLOCK:
        take(c, (size_t)take_unsigned(c));
        break;
    default:
        c->is_bad = true;
    }
    return HU_STR("");
}

/* Directories, or files: walks over all; the path of the one with this number. */
static hu_str walk_table(const unit *u, cursor *c, uint64_t wanted)
{
    uint64_t types[FORMATS_MAX], forms[FORMATS_MAX];
    uint64_t n = take(c, 1), count;
    hu_str   found = HU_STR("");

    if (n > FORMATS_MAX) {
        c->is_bad = true;
        return found;
    }
    for (uint64_t i = 0; i < n; i++) {
        types[i] = take_unsigned(c);
        forms[i] = take_unsigned(c);
    }
    count = take_unsigned(c);
    for (uint64_t k = 0; k < count && n && !c->is_bad; k++)
        for (uint64_t i = 0; i < n; i++) {
            const hu_str text = take_form(u, c, forms[i]);

            if (types[i] == PATH && k == wanted)
                found = text;
        }
    return found;
}

static hu_str file_name(const unit *u, uint64_t number)
{
    cursor c = u->files;
    hu_str name = HU_STR("");

    if (u->version >= 5) {
        walk_table(u, &c, UINT64_MAX);
        name = walk_table(u, &c, number);
    } else {
        while (!c.is_bad && take_text(&c).n)
            ; /* directories */
        for (uint64_t k = 1; !c.is_bad; k++) {
            const hu_str text = take_text(&c);

            if (!text.n)
                break;
            take_unsigned(&c);
            take_unsigned(&c);
            take_unsigned(&c);
            if (k == number) {
                name = text;
                break;
            }
        }
    }
    for (size_t i = name.n; i-- > 0;)
        if (name.p[i] == '/')
            return (hu_str){name.p + i + 1, name.n - i - 1};
    return name;
}

/* The machine of section 6.2.2, as far as it is asked. */
typedef struct {
    uint64_t address, file, line;
} row;

static const row first_row = {0, 1, 1};

static bool run(const unit *u, cursor *c, uint64_t wanted, row *found)
{
    row  now = first_row, before = first_row, known = {0}; /* known: the latest with a line; compilers leave some out */
    bool has_before = false;

    while (c->p < c->end && !c->is_bad) {
        const uint8_t op = (uint8_t)take(c, 1);
        bool          is_row = false, is_end = false;

        if (op >= u->opcode_base) {
            const unsigned special = op - u->opcode_base;

            now.address += (uint64_t)(special / u->line_range) * u->step;
            now.line += (uint64_t)((int64_t)u->line_base + (int64_t)(special % u->line_range));
            is_row = true;
        } else if (op == EXTENDED) {
            const uint64_t n = take_unsigned(c);
            const uint8_t *next = n <= (uint64_t)(c->end - c->p) ? c->p + n : c->end;
            const uint64_t what = n ? take(c, 1) : 0;

            if (what == SET_ADDRESS && n == 9)
                now.address = take(c, 8);
            is_end = what == END_SEQUENCE;
            c->p = next;
        } else if (op == COPY) {
            is_row = true;
        } else if (op == ADVANCE_PC) {
            now.address += take_unsigned(c) * u->step;
        } else if (op == ADVANCE_LINE) {
            now.line += take_signed(c);
        } else if (op == SET_FILE) {
            now.file = take_unsigned(c);
        } else if (op == CONST_ADD_PC) {
            now.address += (uint64_t)((255u - u->opcode_base) / u->line_range) * u->step;
        } else if (op == FIXED_ADVANCE_PC) {
            now.address += take(c, 2);
        } else {
            for (unsigned i = 0; i < u->arguments[op]; i++)
                take_unsigned(c);
        }
        if (!is_row && !is_end)
            continue;
        if (has_before && before.address <= wanted && wanted < now.address) {
            *found = before.line ? before : known;
            return true;
        }
        before = now;
        has_before = is_row;
        known = is_end ? (row){0} : now.line ? now : known;
        if (is_end)
            now = first_row;
    }
    return false;
}

/* False: what follows it cannot be found. */
static bool read_unit(unit *u, cursor *all, cursor *program)
{
    uint64_t length = take(all, 4), header;
    cursor   c;

    u->offset_bytes = length == 0xffffffff ? 8 : 4;
    if (u->offset_bytes == 8)
        length = take(all, 8);
    if (all->is_bad || length > (uint64_t)(all->end - all->p))
        return false;
    c = (cursor){all->p, all->p + length, false};
    all->p = c.end;
    *program = (cursor){c.end, c.end, false}; /* nothing, of what is not understood */
    u->version = (unsigned)take(&c, 2);
    if (u->version < 2 || u->version > 5)
        return true;
    if (u->version == 5)
        take(&c, 2); /* bytes of an address and of a segment */
    header = take(&c, u->offset_bytes);
    if (c.is_bad || header > (uint64_t)(c.end - c.p))
        return true;
    *program = (cursor){c.p + header, c.end, false};
    c.end = program->p;
    u->step = (uint8_t)take(&c, 1);
    if (u->version >= 4)
        take(&c, 1);
    take(&c, 1);
    u->line_base = (int8_t)take(&c, 1);
    u->line_range = (uint8_t)take(&c, 1);
    u->opcode_base = (uint8_t)take(&c, 1);
    for (unsigned i = 1; i < u->opcode_base; i++)
        u->arguments[i] = (uint8_t)take(&c, 1);
    if (c.is_bad || u->line_range == 0 || u->opcode_base == 0)
        program->p = program->end;
    u->files = c;
    return true;
}

bool hu_elf_lines_find(const hu_elf_lines *lines, uint64_t address, hu_str *file, uint64_t *line)
{
    cursor all = {(const uint8_t *)lines->table.p, (const uint8_t *)lines->table.p + lines->table.n, false};
    cursor program;
    unit   u = {.lines = lines};
    row    found;

    while (lines->table.n && all.p < all.end && read_unit(&u, &all, &program)) {
        if (!run(&u, &program, address, &found))
            continue;
        *file = file_name(&u, found.file);
        *line = found.line;
        return file->n && found.line;
    }
    return false;
}

static bool read_at(int fd, uint64_t offset, void *to, size_t n)
{
    for (size_t did = 0; did < n;) {
        const ssize_t got = offset > INT64_MAX - n ? 0 : pread(fd, (char *)to + did, n - did, (off_t)(offset + did));

        if (got <= 0)
            return false;
        did += (size_t)got;
    }
    return true;
}

/* The section's own name, of those that are wanted; it may be the last thing in the file. */
static hu_str *place_of(int fd, uint64_t names, uint32_t name, hu_elf_lines *out)
{
    char text[20] = "";

    if (names > INT64_MAX - UINT32_MAX || pread(fd, text, sizeof text - 1, (off_t)(names + name)) <= 0)
        return NULL;
    return strcmp(text, ".debug_line") == 0       ? &out->table
           : strcmp(text, ".debug_line_str") == 0 ? &out->line_texts
           : strcmp(text, ".debug_str") == 0      ? &out->texts
                                                  : NULL;
}

static void read_section(int fd, const Elf64_Shdr *s, hu_arena *arena, hu_str *out)
{
    char *bytes;

    if (out->n || s->sh_type != SHT_PROGBITS || s->sh_flags & SHF_COMPRESSED || s->sh_size == 0 || s->sh_size > SECTION_MOST)
        return;
    bytes = hu_arena_grow(arena, NULL, (size_t)s->sh_size);
    if (bytes && read_at(fd, s->sh_offset, bytes, (size_t)s->sh_size))
        *out = (hu_str){bytes, (size_t)s->sh_size};
}

void hu_elf_lines_read(hu_elf_lines *out, const char *path, hu_arena *arena)
{
    const int   fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat about;
    Elf64_Ehdr  head;
    Elf64_Shdr  names, s;

    *out = (hu_elf_lines){0};
    if (fd < 0)
        return;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && read_at(fd, 0, &head, sizeof head) &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
        head.e_ident[EI_DATA] == ELFDATA2LSB && head.e_shentsize == sizeof s && head.e_shstrndx < head.e_shnum &&
        read_at(fd, head.e_shoff + head.e_shstrndx * sizeof names, &names, sizeof names))
        for (size_t i = 0; i < head.e_shnum && i < SECTIONS_MAX; i++) {
            hu_str *place;

            if (!read_at(fd, head.e_shoff + i * sizeof s, &s, sizeof s))
                break;
            place = place_of(fd, names.sh_offset, s.sh_name, out);
            if (place)
                read_section(fd, &s, arena, place);
        }
    close(fd);
}
