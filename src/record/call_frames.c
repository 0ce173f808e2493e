/* SPDX-License-Identifier: Apache-2.0
 * call_frames.c - reads .eh_frame_hdr and .eh_frame (Linux Standard Base, chapter 10; DWARF 5, 6.4).
 *
 * A binary search in .eh_frame_hdr finds the entry of a function, whose program says for each instruction where the top of
 * the frame is.  Only forms that gcc, clang and ld write are read: a table of 4-byte offsets, tops that are a register and
 * a number.  The file may be anything: all is read by pread into memory of fixed size, and what does not fit is not known.
 */
#include "record/call_frames.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "record/elf_symbols.h"

enum {
    PROGRAM_HEADERS_MAX = 256,
    TABLE_MOST = 16 << 20, /* functions */
    ENTRY_MOST = 4096,     /* bytes of one entry that are read */
    STATES = 8,            /* that a program remembers */
    RBP = 6,
    RSP = 7,
    RETURN = 16,
    PCREL_SDATA4 = 0x1b,
    DATAREL_SDATA4 = 0x3b,
    UDATA4 = 0x03,
};

typedef struct {
    int32_t function, entry; /* from the head of the table */
} row;

struct hu_call_frames {
    int            fd;
    hu_elf_symbols elf; /* segments alone */
    uint64_t       table_at;
    row           *rows;
    size_t         n;
};

/* Bytes that are read one behind the other; past the end they are zero, and `is_bad`. */
typedef struct {
    const uint8_t *p;
    size_t         n, at;
    bool           is_bad;
} bytes;

static bool read_at(int fd, uint64_t offset, void *to, size_t n, size_t *got)
{
    ssize_t did;

    do
        did = offset > INT64_MAX - n ? 0 : pread(fd, to, n, (off_t)offset);
    while (did < 0 && errno == EINTR);
    *got = did > 0 ? (size_t)did : 0;
    return *got == n;
}

static bool to_offset(const hu_call_frames *f, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < f->elf.segments.n; i++) {
        const hu_elf_segment *s = &f->elf.segments.at[i];

        if (address >= s->address && address - s->address < s->bytes) {
            *offset = address - s->address + s->offset;
            return true;
        }
    }
    return false;
}

static bool to_address(const hu_call_frames *f, uint64_t offset, uint64_t *address)
{
    for (size_t i = 0; i < f->elf.segments.n; i++) {
        const hu_elf_segment *s = &f->elf.segments.at[i];

        if (offset >= s->offset && offset - s->offset < s->bytes) {
            *address = offset - s->offset + s->address;
            return true;
        }
    }
    return false;
}

static uint8_t take_u8(bytes *b)
{
    if (b->at >= b->n) {
        b->is_bad = true;
        return 0;
    }
    return b->p[b->at++];
}

static uint64_t take_fixed(bytes *b, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)take_u8(b) << 8 * i;
    return v;
}

static uint64_t take_uleb(bytes *b)
{
    uint64_t v = 0;
    uint8_t  c;

    for (unsigned shift = 0;; shift += 7) {
        c = take_u8(b);
        if (shift < 64)
            v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80) || b->is_bad)
            return v;
    }
}

static int64_t take_sleb(bytes *b)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t  c;

    do {
        c = take_u8(b);
        if (shift < 64)
            v |= (uint64_t)(c & 0x7f) << shift;
        shift += 7;
    } while (c & 0x80 && !b->is_bad);
    if (c & 0x40 && shift < 64)
        v |= ~UINT64_C(0) << shift;
    return (int64_t)v;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static bool take_table(hu_call_frames *f, uint64_t offset, uint64_t address, uint64_t bytes_n, hu_arena *arena)
{
    uint8_t head[12];
    size_t  got;
    int32_t n;

    f->table_at = address;
    if (!read_at(f->fd, offset, head, sizeof head, &got) || head[0] != 1 || head[1] != PCREL_SDATA4 || head[2] != UDATA4 ||
        head[3] != DATAREL_SDATA4)
        return false;
    memcpy(&n, head + 8, sizeof n);
    if (n <= 0 || n > TABLE_MOST || bytes_n < sizeof head || (uint64_t)n > (bytes_n - sizeof head) / sizeof(row))
        return false;
    f->rows = hu_arena_grow(arena, NULL, (size_t)n * sizeof *f->rows);
    f->n = (size_t)n;
    return f->rows && read_at(f->fd, offset + sizeof head, f->rows, f->n * sizeof *f->rows, &got);
}

static bool take_file(hu_call_frames *f, hu_arena *arena)
{
    Elf64_Ehdr head;
    size_t     got;

    if (!read_at(f->fd, 0, &head, sizeof head, &got) || head.e_machine != EM_X86_64)
        return false;
    for (size_t i = 0; i < head.e_phnum && i < PROGRAM_HEADERS_MAX; i++) {
        Elf64_Phdr p;

        if (!read_at(f->fd, head.e_phoff + i * sizeof p, &p, sizeof p, &got))
            return false;
        if (p.p_type == PT_GNU_EH_FRAME)
            return take_table(f, p.p_offset, p.p_vaddr, p.p_filesz, arena);
    }
    return false;
}

hu_call_frames *hu_call_frames_open(const char *path, const uint8_t *build_id, size_t n, hu_arena *arena)
{
    hu_call_frames *f = hu_arena_calloc(arena, 1, sizeof *f);

    if (!f || !hu_elf_symbols_read(&f->elf, path, arena) ||
        (n && (f->elf.build_id_bytes != n || memcmp(f->elf.build_id, build_id, n) != 0)))
        return NULL;
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (f->fd < 0)
        return NULL;
    if (take_file(f, arena))
        return f;
    close(f->fd);
    return NULL;
}

void hu_call_frames_close(hu_call_frames *f)
{
    if (f)
        close(f->fd);
}

/* ---- one entry --------------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t code_align;
    int64_t  data_align;
    bool     has_size, is_signal; /* has_size: entries have augmentation data */
} common;

typedef struct {
    uint8_t  raw[ENTRY_MOST], common_raw[ENTRY_MOST];
    bytes    program, first; /* of the entry, and of what it has in common with others */
    common   c;
    uint64_t start, end; /* addresses */
} entry;

/* The bytes of an entry behind its length; false for one of 64-bit DWARF, which is not written here. */
static bool load(const hu_call_frames *f, uint64_t address, uint8_t raw[ENTRY_MOST], bytes *out)
{
    uint64_t offset;
    uint32_t length;
    size_t   got;

    if (!to_offset(f, address, &offset))
        return false;
    read_at(f->fd, offset, raw, ENTRY_MOST, &got);
    if (got < 8)
        return false;
    memcpy(&length, raw, sizeof length);
    if (length < 4 || length > got - 4)
        return false;
    *out = (bytes){.p = raw, .n = 4 + (size_t)length, .at = 4};
    return true;
}

static bool take_common(entry *e, bytes b)
{
    char    augmentation[8];
    size_t  n = 0;
    uint8_t version;

    (void)take_fixed(&b, 4); /* 0: it is none of a function */
    version = take_u8(&b);
    for (uint8_t c = take_u8(&b); c && n + 1 < sizeof augmentation; c = take_u8(&b))
        augmentation[n++] = (char)c;
    augmentation[n] = '\0';
    e->c.code_align = take_uleb(&b);
    e->c.data_align = take_sleb(&b);
    if ((version == 1 ? take_u8(&b) : take_uleb(&b)) != RETURN || (version != 1 && version != 3) ||
        (n && augmentation[0] != 'z'))
        return false;
    e->c.has_size = n > 0;
    if (e->c.has_size) {
        const size_t length = (size_t)take_uleb(&b), behind = b.at + length;

        for (size_t i = 1; i < n; i++) {
            if (augmentation[i] == 'R' && take_u8(&b) != PCREL_SDATA4)
                return false;
            if (augmentation[i] == 'L')
                (void)take_u8(&b);
            else if (augmentation[i] == 'P') {
                const uint8_t how = take_u8(&b) & 0x0f;

                (void)take_fixed(&b, how == 0x03 || how == 0x0b ? 4 : 8);
            } else if (augmentation[i] == 'S')
                e->c.is_signal = true;
        }
        if (behind < length || behind > b.n)
            return false;
        b.at = behind;
    }
    e->first = b;
    return !b.is_bad;
}

/* The function that holds an address. */
static bool find_entry(const hu_call_frames *f, uint64_t address, entry *e)
{
    const int64_t want = (int64_t)(address - f->table_at);
    size_t        low = 0, high = f->n;
    bytes         b, shared;
    uint64_t      at;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (f->rows[middle].function > want)
            high = middle;
        else
            low = middle + 1;
    }
    if (!low)
        return false;
    at = f->table_at + (uint64_t)(int64_t)f->rows[low - 1].entry;
    if (!load(f, at, e->raw, &b))
        return false;
    at += 4;
    at -= take_fixed(&b, 4); /* back to what is shared */
    if (!load(f, at, e->common_raw, &shared) || !take_common(e, shared))
        return false;
    e->start = f->table_at + (uint64_t)(int64_t)f->rows[low - 1].function;
    (void)take_fixed(&b, 4);
    e->end = e->start + take_fixed(&b, 4);
    if (e->c.has_size) {
        const size_t length = (size_t)take_uleb(&b);

        if (length > b.n - b.at)
            return false;
        b.at += length;
    }
    e->program = b;
    return !b.is_bad && address >= e->start && address < e->end;
}

/* ---- its program ------------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t reg;
    int64_t  top, bp;
    bool     is_sum;  /* the top is a register and a number */
    bool     bp_lost; /* rbp is saved in a way that is not read */
} state;

typedef struct {
    state    now, first, kept[STATES];
    size_t   n_kept;
    uint64_t at, want;
} machine;

static void save(machine *m, uint64_t reg, int64_t where)
{
    if (reg == RBP) {
        m->now.bp = where;
        m->now.bp_lost = false;
    } else if (reg == RETURN && where != -8) {
        m->now.is_sum = false;
    }
}

static void skip_block(bytes *b)
{
    const uint64_t n = take_uleb(b);

    b->is_bad |= n > b->n - b->at;
    b->at += b->is_bad ? 0 : (size_t)n;
}

/* One instruction with an operand in its second byte; false: not known. */
static bool step_long(machine *m, const common *c, bytes *b, uint8_t op)
{
    uint64_t reg;

    switch (op) {
    case 0x00:
        break;
    case 0x02:
    case 0x03:
    case 0x04:
        m->at += take_fixed(b, (size_t)1 << (op - 2)) * c->code_align;
        break;
    case 0x05:
        reg = take_uleb(b);
        save(m, reg, (int64_t)take_uleb(b) * c->data_align);
        break;
    case 0x11:
        reg = take_uleb(b);
        save(m, reg, take_sleb(b) * c->data_align);
        break;
    case 0x06:
        if (take_uleb(b) == RBP)
            m->now.bp = m->first.bp;
        break;
    case 0x07:
    case 0x08:
        reg = take_uleb(b);
        if (reg == RBP)
            m->now.bp = 0;
        else if (reg == RETURN)
            m->now.is_sum = false; /* nobody called it */
        break;
    case 0x09:
        reg = take_uleb(b);
        (void)take_uleb(b);
        m->now.bp_lost |= reg == RBP;
        break;
    case 0x0a:
        if (m->n_kept == STATES)
            return false;
        m->kept[m->n_kept++] = m->now;
        break;
    case 0x0b:
        if (!m->n_kept)
            return false;
        m->now = m->kept[--m->n_kept];
        break;
    case 0x0c:
        m->now.reg = take_uleb(b);
        m->now.top = (int64_t)take_uleb(b);
        m->now.is_sum = true;
        break;
    case 0x12:
        m->now.reg = take_uleb(b);
        m->now.top = take_sleb(b) * c->data_align;
        m->now.is_sum = true;
        break;
    case 0x0d:
        m->now.reg = take_uleb(b);
        break;
    case 0x0e:
        m->now.top = (int64_t)take_uleb(b);
        break;
    case 0x13:
        m->now.top = take_sleb(b) * c->data_align;
        break;
    case 0x0f:
        skip_block(b);
        m->now.is_sum = false;
        break;
    case 0x10:
    case 0x16:
        m->now.bp_lost |= take_uleb(b) == RBP;
        skip_block(b);
        break;
    case 0x2e:
        (void)take_uleb(b);
        break;
    default:
        return false;
    }
    return true;
}

/* False: it cannot be told. */
static bool run(machine *m, const common *c, bytes b)
{
    while (b.at < b.n && !b.is_bad) {
        const uint8_t  op = take_u8(&b), low = op & 0x3f;
        const uint64_t before = m->at;
        state          was = m->now;

        switch (op >> 6) {
        case 1:
            m->at += low * c->code_align;
            break;
        case 2:
            save(m, low, (int64_t)take_uleb(&b) * c->data_align);
            break;
        case 3:
            if (low == RBP)
                m->now.bp = m->first.bp;
            break;
        default:
            if (!step_long(m, c, &b, op))
                return false;
        }
        if (m->at > before && m->at > m->want) {
            m->now = was;
            return !b.is_bad;
        }
    }
    return !b.is_bad;
}

hu_call_frame hu_call_frames_find(hu_call_frames *f, uint64_t offset)
{
    machine       m = {.now = {.is_sum = false}};
    hu_call_frame out = {.is_known = false};
    entry         e;

    memset(&e.c, 0, sizeof e.c);
    if (!to_address(f, offset, &m.want) || !find_entry(f, m.want, &e) || e.c.is_signal)
        return out;
    m.at = e.start;
    if (!run(&m, &e.c, e.first))
        return out;
    m.at = e.start;
    m.first = m.now;
    if (!run(&m, &e.c, e.program) || !m.now.is_sum || m.now.bp_lost || (m.now.reg != RBP && m.now.reg != RSP) ||
        m.now.top < 8 || m.now.top > INT32_MAX || m.now.bp > 0 || m.now.bp < INT32_MIN)
        return out;
    return (hu_call_frame){
        .is_known = true, .is_from_bp = m.now.reg == RBP, .top = (int32_t)m.now.top, .bp = (int32_t)m.now.bp};
}

uint64_t hu_call_frames_start_at(hu_call_frames *f, uint64_t address)
{
    entry e;

    memset(&e.c, 0, sizeof e.c);
    return find_entry(f, address, &e) ? e.start : 0;
}

uint64_t hu_call_frames_start(hu_call_frames *f, uint64_t offset)
{
    uint64_t address;

    return to_address(f, offset, &address) ? hu_call_frames_start_at(f, address) : 0;
}
