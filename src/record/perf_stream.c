/* SPDX-License-Identifier: Apache-2.0
 * perf_stream.c - one reader for each file, and a heap that says whose record is the earliest.
 *
 * Files are opened for each refill, so that a machine of 1,000 CPUs needs no 1,000 descriptors.  Nothing in a file is
 * trusted: a record has to be whole, aligned and long enough for its trailer, or its file ends there.
 */
#include "record/perf_stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"

/* A record is at most 64 KiB, because its size has 16 bits. */
enum { BUFFER_BYTES = 1 << 17 };

typedef struct {
    uint32_t cpu;
    uint64_t offset; /* in the file: of what follows the buffer */
    char    *buffer;
    size_t   at, n; /* the current record begins at `at` */
    bool     has_ended;
    int64_t  time_ns; /* of the current record */
} source;

struct hu_perf_stream {
    hu_arena *arena;
    int       folder;
    HU_VEC(source) sources;
    HU_VEC(uint32_t) heap; /* sources that have a record; the earliest first */
    hu_perf_head head;
    uint64_t     malformed;
    int64_t      last_ns;
    bool         must_move; /* the first of the heap still stands on the record given last */
};

/* ---- one file ---------------------------------------------------------------------------------------------------- */

/* Keeps what is left and reads on.  The buffer is filled, or the file is at its end. */
static void refill(hu_perf_stream *s, source *c)
{
    char name[32];
    int  fd;

    memmove(c->buffer, c->buffer + c->at, c->n - c->at);
    c->n -= c->at;
    c->at = 0;
    snprintf(name, sizeof name, "perf.%u", c->cpu);
    fd = openat(s->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    while (fd >= 0 && c->n < BUFFER_BYTES) {
        const ssize_t got = pread(fd, c->buffer + c->n, BUFFER_BYTES - c->n, (off_t)c->offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        c->n += (size_t)got;
        c->offset += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
}

/* The time of the record that lies at `p`, or -1: it is too short to have one. */
static int64_t time_of(const struct perf_event_header *h, const char *p)
{
    hu_perf_trailer trailer;
    int64_t         ns;
    size_t          at;

    if (h->type == HU_PERF_RECORD_CUT) {
        if (h->size != sizeof(hu_perf_cut))
            return -1;
        at = offsetof(hu_perf_cut, time_ns);
    } else if (h->type == PERF_RECORD_SAMPLE) {
        if (h->size < sizeof *h + 40) /* ip, pid and tid, time, cpu, number of callers */
            return -1;
        at = sizeof *h + 16;
    } else {
        if (h->size < sizeof *h + sizeof trailer)
            return -1;
        at = h->size - sizeof trailer + offsetof(hu_perf_trailer, time_ns);
    }
    memcpy(&ns, p + at, sizeof ns);
    return ns >= 0 && ns < INT64_MAX / 4 ? ns : -1;
}

/* Is there a whole record at c->at?  Else the file has ended, well or not. */
static bool look(hu_perf_stream *s, source *c)
{
    struct perf_event_header h;

    if (c->has_ended)
        return false;
    for (int tries = 0;; tries++) {
        const size_t left = c->n - c->at;

        if (left >= sizeof h) {
            memcpy(&h, c->buffer + c->at, sizeof h);
            if (h.size < sizeof h || h.size % 8)
                break;
            if (h.size <= left) {
                c->time_ns = time_of(&h, c->buffer + c->at);
                if (c->time_ns < 0)
                    break;
                return true;
            }
        }
        if (tries) {
            if (left == 0) {
                c->has_ended = true;
                return false;
            }
            break; /* cut within a record */
        }
        refill(s, c);
    }
    s->malformed++;
    c->has_ended = true;
    return false;
}

/* ---- all files --------------------------------------------------------------------------------------------------- */

static bool is_before(const hu_perf_stream *s, uint32_t a, uint32_t b)
{
    const source *x = &s->sources.at[a], *y = &s->sources.at[b];

    return x->time_ns != y->time_ns ? x->time_ns < y->time_ns : x->cpu < y->cpu;
}

static void sink(hu_perf_stream *s, size_t i)
{
    uint32_t *heap = s->heap.at;

    for (;;) {
        size_t         least = i;
        const uint32_t moved = heap[i];

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < s->heap.n; child++)
            if (is_before(s, heap[child], heap[least]))
                least = child;
        if (least == i)
            return;
        heap[i] = heap[least];
        heap[least] = moved;
        i = least;
    }
}

static int add_file(hu_perf_stream *s, uint32_t cpu, hu_error *err)
{
    source       c = {.cpu = cpu, .buffer = hu_arena_alloc(s->arena, BUFFER_BYTES)};
    hu_perf_head head;

    if (!c.buffer)
        return hu_fail_memory(err);
    refill(s, &c);
    if (c.n < sizeof head) {
        s->malformed++;
        return 0;
    }
    memcpy(&head, c.buffer, sizeof head);
    if (head.magic != HU_PERF_MAGIC || head.version != HU_PERF_VERSION || head.bytes != sizeof head ||
        (head.sample_type & ~(uint64_t)HU_PERF_STACK_TYPE) != HU_PERF_SAMPLE_TYPE) {
        s->malformed++;
        return 0;
    }
    c.at = sizeof head;
    if (s->sources.n == 0)
        s->head = head;
    s->head.user_only |= head.user_only;
    return hu_vec_push(s->arena, &s->sources, c) ? 0 : hu_fail_memory(err);
}

/* Lists the files; 0 or a code. */
static int find_files(hu_perf_stream *s, DIR *folder, hu_error *err)
{
    struct dirent *entry;
    int            rc = 0;

    while (rc == 0 && s->sources.n < HU_PERF_CPUS_MAX && (entry = readdir(folder))) {
        const hu_str name = hu_str_of(entry->d_name);
        const bool   has_leading = name.n > 6 && (name.p[5] < '1' || name.p[5] > '9'); /* else it counts twice */
        int64_t      cpu;

        if (!has_leading && hu_str_starts(name, HU_STR("perf.")) && hu_parse_i64((hu_str){name.p + 5, name.n - 5}, &cpu) &&
            cpu >= 0 && cpu < HU_PERF_CPUS_MAX)
            rc = add_file(s, (uint32_t)cpu, err);
    }
    return rc;
}

hu_perf_stream *hu_perf_stream_open(const char *session, hu_arena *arena, hu_error *err)
{
    hu_perf_stream *s = hu_arena_calloc(arena, 1, sizeof *s);
    DIR            *folder;
    int             rc;

    if (!s) {
        hu_fail_memory(err);
        return NULL;
    }
    s->arena = arena;
    folder = opendir(session);
    if (!folder) {
        hu_fail(err, HU_EIO, session, HU_NO_OFFSET, "cannot read the session: %s", strerror(errno));
        return NULL;
    }
    s->folder = dirfd(folder);
    rc = find_files(s, folder, err);
    s->folder = rc == 0 ? fcntl(s->folder, F_DUPFD_CLOEXEC, 0) : -1;
    closedir(folder);
    for (uint32_t i = 0; rc == 0 && i < s->sources.n; i++)
        if (look(s, &s->sources.at[i]) && !hu_vec_push(arena, &s->heap, i))
            rc = hu_fail_memory(err);
    if (rc < 0) {
        hu_perf_stream_close(s);
        return NULL;
    }
    for (size_t i = s->heap.n / 2; i-- > 0;)
        sink(s, i);
    return s;
}

bool hu_perf_stream_next(hu_perf_stream *s, hu_perf_record *out)
{
    struct perf_event_header h;
    hu_perf_trailer          trailer;
    const char              *p;
    source                  *c;

    if (s->must_move) {
        c = &s->sources.at[s->heap.at[0]];
        memcpy(&h, c->buffer + c->at, sizeof h);
        c->at += h.size;
        if (!look(s, c))
            s->heap.at[0] = s->heap.at[--s->heap.n];
        sink(s, 0);
    }
    s->must_move = s->heap.n > 0;
    if (!s->must_move)
        return false;
    c = &s->sources.at[s->heap.at[0]];
    p = c->buffer + c->at;
    memcpy(&h, p, sizeof h);
    *out = (hu_perf_record){.type = h.type, .misc = h.misc, .cpu = c->cpu, .body = p + sizeof h, .n = h.size - sizeof h};
    if (h.type == PERF_RECORD_SAMPLE) {
        memcpy(&out->pid, p + sizeof h + 8, 4);
        memcpy(&out->tid, p + sizeof h + 12, 4);
    } else if (h.type != HU_PERF_RECORD_CUT) {
        memcpy(&trailer, p + h.size - sizeof trailer, sizeof trailer);
        out->pid = trailer.pid;
        out->tid = trailer.tid;
        out->n -= sizeof trailer;
    }
    s->last_ns = c->time_ns > s->last_ns ? c->time_ns : s->last_ns;
    out->time_ns = s->last_ns;
    return true;
}

uint32_t hu_perf_stream_files(const hu_perf_stream *s)
{
    return (uint32_t)s->sources.n;
}

uint64_t hu_perf_stream_malformed(const hu_perf_stream *s)
{
    return s->malformed;
}

const hu_perf_head *hu_perf_stream_head(const hu_perf_stream *s)
{
    return s->sources.n ? &s->head : NULL;
}

void hu_perf_stream_close(hu_perf_stream *s)
{
    if (s && s->folder >= 0)
        close(s->folder);
}
