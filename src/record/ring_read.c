/* SPDX-License-Identifier: Apache-2.0
 * ring_read.c - lists the blocks of a ring file and the pieces of its drain file, and reads one block at a time.
 *
 * Traps:
 *  - the supervisor may have been killed between writing a piece and giving its block back: the block is in both files,
 *    and the drain file decides how much of it is there already;
 *  - of a file that broke off, the last piece is as long as it is, and the rest of its block may still be in the ring;
 *  - while the session runs, a block may be drained and given back between listing and reading it: its head is looked at
 *    again behind its records, and what is gone is found at the end of the drain file;
 *  - files are read, not mapped: a map of a file that somebody cuts would kill us.
 */
#include "record/ring_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/nccl_events.h"

enum {
    MOST_BLOCKS = HU_RING_BLOCKS_MAX * 16,
    STRING_HEAD = 8,
    BLOCK_ROOM = HU_BLOCK_BYTES - (int)sizeof(hu_block_head),
};

typedef struct {
    uint64_t sequence;
    uint64_t offset; /* of its first record in the file | IN_DRAIN | IS_OPEN */
    uint32_t thread;
    uint16_t first, n; /* records, or bytes of texts */
} segment;

#define IN_DRAIN (UINT64_C(1) << 63)
#define IS_OPEN  (UINT64_C(1) << 62) /* nobody has said yet where its records end */
#define OFFSET   (IS_OPEN - 1)

struct hu_ring_file {
    hu_arena    *arena;
    int          ring, drain; /* descriptors; drain may be -1 */
    hu_ring_head head;
    bool         is_live;
    HU_VEC(segment) segments; /* of records, by thread, sequence and place */
    HU_VEC(segment) strings;
    HU_VEC(hu_ring_thread) threads;
    HU_VEC(hu_str) texts; /* by id */
    HU_VEC(segment) late; /* pieces that were drained after the list was made */
    uint64_t  drained;    /* bytes of the drain file that are listed */
    uint64_t  cut_bytes;
    hu_block  block; /* the loaded one */
    hu_record piece[HU_BLOCK_RECORDS];
    hu_error  error;
};

static bool read_at(int fd, void *to, size_t n, uint64_t offset)
{
    for (size_t got = 0; got < n;) {
        const ssize_t rc = pread(fd, (char *)to + got, n - got, (off_t)(offset + got));

        if (rc > 0)
            got += (size_t)rc;
        else if (rc == 0 || errno != EINTR)
            return false;
    }
    return true;
}

static uint64_t size_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* texts in heads come from a process that may have been killed while it wrote them */
static void end_texts(hu_ring_head *h)
{
    h->rank_source[sizeof h->rank_source - 1] = h->program[sizeof h->program - 1] = '\0';
    h->name[sizeof h->name - 1] = h->job_id[sizeof h->job_id - 1] = '\0';
    if (h->command_bytes > sizeof h->command)
        h->command_bytes = sizeof h->command;
}

static int read_head(int fd, const char *path, hu_ring_head *out, hu_error *err)
{
    if (!read_at(fd, out, sizeof *out, 0) || out->magic != HU_RING_MAGIC)
        return hu_fail(err, HU_EFORMAT, path, 0, "is not a ring file, or its process died while creating it");
    if (out->version != HU_FORMAT_VERSION || out->block_bytes != HU_BLOCK_BYTES)
        return hu_fail(err, HU_EFORMAT, path, 0,
                       "is a ring file of version %u; this holdup reads version %d: use the version that recorded it",
                       out->version, HU_FORMAT_VERSION);
    end_texts(out);
    return 0;
}

int hu_ring_read_head(const char *ring_path, hu_ring_head *out, hu_error *err)
{
    const int fd = open(ring_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    int       rc;

    if (fd < 0)
        return hu_fail(err, HU_EIO, ring_path, HU_NO_OFFSET, "cannot be opened: %s", strerror(errno));
    rc = read_head(fd, ring_path, out, err);
    close(fd);
    return rc;
}

/* the lists */

static bool add_segment(hu_ring_file *f, hu_block_kind kind, const segment *s)
{
    return kind == HU_BLOCK_OF_STRINGS ? hu_vec_push(f->arena, &f->strings, *s) : hu_vec_push(f->arena, &f->segments, *s);
}

/* One piece of the drain file, and where the next one begins; *next 0: it is cut, or none.  False: it is none. */
static bool read_piece(const hu_ring_file *f, uint64_t at, uint64_t size, hu_drain_head *h, segment *out, uint64_t *next)
{
    uint64_t unit, bytes, left;

    *next = 0;
    if (at + sizeof *h > size || !read_at(f->drain, h, sizeof *h, at) || h->magic != HU_DRAIN_MAGIC ||
        h->kind > HU_BLOCK_OF_STRINGS)
        return false;
    left = size - at - sizeof *h;
    unit = h->kind == HU_BLOCK_OF_STRINGS ? 1 : sizeof(hu_record);
    if (h->first > BLOCK_ROOM / unit || h->n > BLOCK_ROOM / unit - h->first || h->n * unit % STRING_HEAD ||
        (h->kind == HU_BLOCK_OF_RECORDS && h->thread == 0))
        return false;
    bytes = h->n * unit;
    *out = (segment){h->sequence, (at + sizeof *h) | IN_DRAIN, h->thread, (uint16_t)h->first,
                     (uint16_t)((bytes < left ? bytes : left) / unit)};
    if (bytes <= left)
        *next = at + sizeof *h + bytes;
    return true;
}

/* False: no memory. */
static bool list_drain(hu_ring_file *f)
{
    const uint64_t size = f->drain < 0 ? 0 : size_of(f->drain);
    hu_drain_head  h;
    segment        s;
    uint64_t       next;

    while (read_piece(f, f->drained, size, &h, &s, &next)) {
        if (s.n && !add_segment(f, (hu_block_kind)h.kind, &s))
            return false;
        if (next == 0)
            break;
        f->drained = next;
    }
    f->cut_bytes = size - f->drained;
    return true;
}

/* How many records, or bytes of texts, a block of the ring holds. */
static uint32_t used_of(const hu_block_head *h)
{
    const uint32_t room = h->kind == HU_BLOCK_OF_STRINGS ? BLOCK_ROOM : HU_BLOCK_RECORDS;
    const uint32_t taken = h->taken < room ? h->taken : room;

    if (h->kind == HU_BLOCK_OF_STRINGS)
        return taken & ~7u;
    return h->used && h->used <= taken ? h->used : taken;
}

static bool list_ring(hu_ring_file *f)
{
    uint64_t n = size_of(f->ring) / HU_BLOCK_BYTES;

    n = n < f->head.n_blocks ? n : f->head.n_blocks;
    n = n < MOST_BLOCKS ? n : MOST_BLOCKS;
    for (uint64_t i = 1; i < n; i++) {
        hu_block_head h;
        segment       s;

        if (!read_at(f->ring, &h, sizeof h, i * HU_BLOCK_BYTES))
            break;
        if (h.state == HU_BLOCK_FREE || h.state > HU_BLOCK_CLOSED || h.kind > HU_BLOCK_OF_STRINGS ||
            (h.kind == HU_BLOCK_OF_RECORDS && h.thread == 0))
            continue;
        s = (segment){
            .sequence = h.sequence, .offset = i * HU_BLOCK_BYTES + sizeof h, .thread = h.thread, .n = (uint16_t)used_of(&h)};
        s.offset |= h.state == HU_BLOCK_OPEN || h.used == 0 ? IS_OPEN : 0;
        /* a thread that has not returned from its first call has no record */
        if ((s.n || (h.kind == HU_BLOCK_OF_RECORDS && h.call)) && !add_segment(f, h.kind, &s))
            return false;
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const segment *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    if ((x->offset ^ y->offset) & IN_DRAIN) /* what was drained comes first, and hides what it covers */
        return x->offset & IN_DRAIN ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void sort_segments(segment *at, size_t n)
{
    if (n)
        qsort(at, n, sizeof *at, by_place);
}

static uint32_t tid_of(hu_ring_file *f, const segment *s)
{
    const uint64_t offset = s->offset & OFFSET;
    hu_drain_head  d;
    hu_block_head  b;

    if (s->offset & IN_DRAIN)
        return read_at(f->drain, &d, sizeof d, offset - sizeof d) ? d.tid : 0;
    return read_at(f->ring, &b, sizeof b, offset - sizeof b) ? b.tid : 0;
}

static void note_call(hu_ring_file *f, hu_ring_thread *t, const segment *last)
{
    hu_block_head h;

    if (!(last->offset & IS_OPEN) || !read_at(f->ring, &h, sizeof h, (last->offset & OFFSET) - sizeof h))
        return;
    t->call = h.call;
    if (h.call & HU_CALL_HELD) {
        t->call = h.call & ((1u << HU_CALL_BITS) - 1);
        t->holder = (h.call & ~HU_CALL_HELD) >> HU_CALL_BITS;
    }
    t->object = h.place & ((UINT64_C(1) << 48) - 1);
    t->caller = h.place >> 48 | (uint64_t)h.place_high << 16;
    t->call_since = h.call_since;
}

static bool list_threads(hu_ring_file *f)
{
    const segment *at = f->segments.at;

    for (size_t i = 0; i < f->segments.n;) {
        hu_ring_thread t = {.thread = at[i].thread, .first = i};

        for (; i < f->segments.n && at[i].thread == t.thread; i++)
            t.n_slots += at[i].n;
        t.n = i - t.first;
        t.tid = tid_of(f, &at[t.first]);
        note_call(f, &t, &at[i - 1]);
        if (!hu_vec_push(f->arena, &f->threads, t))
            return false;
    }
    return true;
}

/* The texts of one segment: {id, length, bytes, padding to 8} without gaps. */
static bool take_texts(hu_ring_file *f, const segment *s)
{
    char *bytes = (char *)&f->block;

    if (!read_at(s->offset & IN_DRAIN ? f->drain : f->ring, bytes, s->n, s->offset & OFFSET))
        return true;
    for (uint32_t at = 0; at + STRING_HEAD <= s->n;) {
        uint32_t id, length;
        hu_str   text;

        memcpy(&id, bytes + at, sizeof id);
        memcpy(&length, bytes + at + 4, sizeof length);
        if (id == 0 || id > HU_STRINGS_MAX || length > HU_STRING_BYTES_MAX || length > s->n - at - STRING_HEAD)
            break;
        while (f->texts.n <= id)
            if (!hu_vec_push(f->arena, &f->texts, ((hu_str){NULL, 0})))
                return false;
        if (!f->texts.at[id].p) {
            text = hu_arena_copy(f->arena, (hu_str){bytes + at + STRING_HEAD, length});
            if (!text.p)
                return false;
            f->texts.at[id] = text;
        }
        at += (STRING_HEAD + length + 7) & ~7u;
    }
    return true;
}

static bool make_lists(hu_ring_file *f)
{
    /* in this order: what is drained in between is in both lists, and not in none */
    if (!list_ring(f) || !list_drain(f))
        return false;
    sort_segments(f->segments.at, f->segments.n);
    sort_segments(f->strings.at, f->strings.n);
    for (size_t i = 0; i < f->strings.n; i++)
        if (!take_texts(f, &f->strings.at[i]))
            return false;
    return list_threads(f);
}

/* opening */

static int open_drain(const char *ring_path)
{
    const size_t n = strlen(ring_path), suffix = sizeof ".ring" - 1;
    char         path[4096];

    if (n <= suffix || n + 2 > sizeof path)
        return -1;
    snprintf(path, sizeof path, "%.*s.drain", (int)(n - suffix), ring_path);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
}

int hu_ring_open(const char *ring_path, bool is_live, hu_ring_file **out, hu_error *err)
{
    hu_arena     *arena = hu_arena_new();
    hu_ring_file *f = arena ? hu_arena_calloc(arena, 1, sizeof *f) : NULL;
    int           rc;

    if (!f) {
        hu_arena_free(arena);
        return hu_fail_memory(err);
    }
    f->arena = arena;
    f->is_live = is_live;
    f->drain = -1;
    f->ring = open(ring_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (f->ring < 0)
        rc = hu_fail(err, HU_EIO, ring_path, HU_NO_OFFSET, "cannot be opened: %s", strerror(errno));
    else
        rc = read_head(f->ring, ring_path, &f->head, err);
    if (rc == 0) {
        f->drain = open_drain(ring_path);
        rc = make_lists(f) ? 0 : hu_fail_memory(err);
    }
    if (rc < 0)
        hu_ring_close(f);
    else
        *out = f;
    return rc;
}

void hu_ring_close(hu_ring_file *f)
{
    if (!f)
        return;
    if (f->ring >= 0)
        close(f->ring);
    if (f->drain >= 0)
        close(f->drain);
    hu_arena_free(f->arena);
}

const hu_ring_head *hu_ring_get_head(const hu_ring_file *f)
{
    return &f->head;
}

const hu_ring_thread *hu_ring_threads(const hu_ring_file *f, size_t *n)
{
    *n = f->threads.n;
    return f->threads.at;
}

hu_str hu_ring_text(const hu_ring_file *f, uint32_t id)
{
    return id < f->texts.n && f->texts.at[id].p ? f->texts.at[id] : HU_STR("");
}

uint32_t hu_ring_texts(const hu_ring_file *f)
{
    return (uint32_t)f->texts.n;
}

uint64_t hu_ring_cut_bytes(const hu_ring_file *f)
{
    return f->cut_bytes;
}

int hu_ring_status(const hu_ring_file *f, hu_error *err)
{
    if (f->error.code && err)
        *err = f->error;
    return f->error.code;
}

/* records */

void hu_ring_start(hu_ring_file *f, const hu_ring_thread *thread, hu_ring_damage *damage, hu_ring_cursor *out)
{
    *out = (hu_ring_cursor){
        .file = f, .block = thread->first, .end = thread->first + thread->n, .damage = damage, .loaded = &f->block};
}

static bool is_covered(const hu_ring_cursor *c, uint32_t i)
{
    return c->covered[i / 64] >> i % 64 & 1;
}

static void take_piece(hu_ring_cursor *c, const segment *s)
{
    hu_ring_file  *f = c->file;
    const uint32_t end = (uint32_t)s->first + s->n;

    for (uint32_t i = s->first; i < end; i++) {
        if (is_covered(c, i))
            continue;
        f->block.records[i] = f->piece[i - s->first];
        c->covered[i / 64] |= UINT64_C(1) << i % 64;
    }
    c->n = end > c->n ? end : c->n;
    c->is_open |= (s->offset & IS_OPEN) != 0;
}

static bool read_records(hu_ring_file *f, const segment *s)
{
    return read_at(s->offset & IN_DRAIN ? f->drain : f->ring, f->piece, s->n * sizeof(hu_record), s->offset & OFFSET);
}

/* Is the block in the ring still the one that was listed?  It was read before this was asked. */
static bool is_still(const hu_ring_file *f, const segment *s)
{
    hu_block_head h;

    return read_at(f->ring, &h, sizeof h, (s->offset & OFFSET) - sizeof h) && h.state != HU_BLOCK_FREE &&
           h.kind == HU_BLOCK_OF_RECORDS && h.thread == s->thread && h.sequence == s->sequence;
}

/* The piece that a block became meanwhile, or NULL. */
static const segment *find_late(hu_ring_file *f, const segment *gone)
{
    const uint64_t size = f->drain < 0 ? 0 : size_of(f->drain);
    hu_drain_head  h;
    segment        s;
    uint64_t       next;

    while (read_piece(f, f->drained, size, &h, &s, &next) && next) {
        f->drained = next;
        f->cut_bytes = 0;
        if (h.kind == HU_BLOCK_OF_RECORDS && !hu_vec_push(f->arena, &f->late, s))
            return NULL;
    }
    for (size_t i = 0; i < f->late.n; i++)
        if (f->late.at[i].thread == gone->thread && f->late.at[i].sequence == gone->sequence)
            return &f->late.at[i];
    return NULL;
}

/* What a segment holds and the block has not yet. */
static bool load_segment(hu_ring_cursor *c, const segment *s)
{
    hu_ring_file *f = c->file;
    bool          is_read = read_records(f, s);

    if (is_read && !(s->offset & IN_DRAIN) && !is_still(f, s)) {
        s = find_late(f, s);
        if (!s)
            return true; /* overwritten: a flight recorder does so */
        is_read = read_records(f, s);
    }
    if (!is_read) {
        hu_fail(&f->error, HU_EIO, NULL, HU_NO_OFFSET, "records cannot be read: %s", strerror(errno));
        return false;
    }
    take_piece(c, s);
    return true;
}

/* All segments of the next block, each at its place.  False: no more. */
static bool load(hu_ring_cursor *c)
{
    enum { MOST_UNUSED = 64 };

    hu_ring_file *f = c->file;
    uint64_t      sequence;

    if (c->block >= c->end || f->error.code)
        return false;
    sequence = f->segments.at[c->block].sequence;
    memset(c->covered, 0, sizeof c->covered);
    c->at = c->n = 0;
    c->is_open = false;
    for (; c->block < c->end && f->segments.at[c->block].sequence == sequence; c->block++)
        if (!load_segment(c, &f->segments.at[c->block]))
            return false;
    /* whoever wanted more than was left there, and was killed before it said so */
    for (uint32_t i = 0; c->is_open && c->n + i == HU_BLOCK_RECORDS && i < MOST_UNUSED; i++)
        if (f->block.records[c->n - 1].type == HU_RECORD_NONE)
            c->n--;
    return true;
}

static uint32_t skip_torn(hu_ring_cursor *c, uint64_t *torn)
{
    const hu_record *r = c->loaded->records;
    uint32_t         i = c->at;

    for (; i < c->n && is_covered(c, i) && (r[i].type == HU_RECORD_NONE || r[i].type == HU_RECORD_MORE); i++)
        ++*torn;
    return i;
}

bool hu_ring_next(hu_ring_cursor *c, hu_ring_event *out)
{
    hu_ring_damage   nowhere = {0}, *damage = c->damage ? c->damage : &nowhere;
    const hu_record *r = c->loaded->records;

    for (;;) {
        if (c->at >= c->n) {
            if (!load(c))
                return false;
        } else if (!is_covered(c, c->at)) {
            damage->gaps++;
            c->at++;
        } else if (r[c->at].type == HU_RECORD_NONE) {
            if (c->is_open && c->file->is_live)
                c->at = c->n;
            else
                c->at = skip_torn(c, &damage->torn);
        } else if (r[c->at].type >= HU_RECORD_TYPES || r[c->at].type == HU_RECORD_MORE) {
            damage->odd++;
            c->at++;
        } else {
            break;
        }
    }
    out->record = &r[c->at++];
    out->more = &r[c->at];
    out->n_more = 0;
    while (c->at < c->n && is_covered(c, c->at) && r[c->at].type == HU_RECORD_MORE) {
        out->n_more++;
        c->at++;
    }
    return true;
}

uint64_t hu_ring_last_ticks(hu_ring_file *f)
{
    uint64_t last = f->head.state == HU_PROCESS_RUNS ? f->head.seen : 0;

    for (size_t i = 0; i < f->threads.n; i++) {
        const hu_ring_thread *t = &f->threads.at[i];
        hu_ring_cursor        c;
        hu_ring_event         e;
        size_t                from = t->first + t->n - 1;

        while (from > t->first && f->segments.at[from - 1].sequence == f->segments.at[from].sequence)
            from--;
        last = t->call && t->call_since > last ? t->call_since : last;
        hu_ring_start(f, t, NULL, &c);
        c.block = from;
        while (hu_ring_next(&c, &e)) {
            const hu_record *r = e.record;
            uint64_t         end = r->time;

            if (r->type == HU_RECORD_GPU) /* by other threads' time */
                continue;
            if ((r->type == HU_RECORD_OS_CALL || r->type == HU_RECORD_MPI || r->type == HU_RECORD_OMP ||
                 (r->type == HU_RECORD_NCCL && r->aux != HU_NCCL_STATE) ||
                 (r->type == HU_RECORD_OPENCL && (r->aux & ((1u << HU_OPENCL_KIND_BITS) - 1)) == HU_OPENCL_CALL)) &&
                __builtin_add_overflow(end, r->a, &end))
                continue;
            last = end > last ? end : last;
        }
    }
    return last;
}
