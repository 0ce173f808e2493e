/* SPDX-License-Identifier: Apache-2.0
 * source.c - the sources that decode nothing. */
#include "base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLL_MS = 100 };

typedef struct {
    hu_source base;
    int       fd;
    bool      owns_fd, may_block;
} file_source;

typedef struct {
    hu_source base;
    hu_str    left;
} memory_source;

typedef struct {
    hu_source  base;
    hu_source *inner;
    size_t     n, done;
    char       head[];
} replay_source;

/* A pipe may stay silent for ever, and whoever wants to stop must not wait for it. */
static bool wait_for_data(const file_source *f)
{
    struct pollfd p = {.fd = f->fd, .events = POLLIN};

    while (!f->base.stop || !atomic_load(f->base.stop)) {
        const int n = poll(&p, 1, POLL_MS);

        if (n > 0 || (n < 0 && errno != EINTR))
            return true;
    }
    return false;
}

static int fail_read(const hu_source *source, hu_error *err)
{
    return hu_fail(err, HU_EIO, source->name, HU_NO_OFFSET, "cannot read: %s; check the disk and try again",
                   strerror(errno));
}

static int64_t file_read(hu_source *source, void *to, size_t room, hu_error *err)
{
    file_source *f = (file_source *)source;
    ssize_t      n;

    do {
        if (f->may_block && !wait_for_data(f))
            return 0;
        n = read(f->fd, to, room);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? fail_read(source, err) : n;
}

static int64_t file_read_at(hu_source *source, void *to, size_t room, uint64_t offset, hu_error *err)
{
    const file_source *f = (const file_source *)source;
    ssize_t            n;

    do
        n = pread(f->fd, to, room, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n < 0 ? fail_read(source, err) : n;
}

static void file_close(hu_source *source)
{
    file_source *f = (file_source *)source;

    if (f->owns_fd)
        close(f->fd);
    free(f);
}

static struct {
    char  *bytes;
    size_t n;
} given_back;

bool hu_source_give_back(hu_str bytes)
{
    char *copy = malloc(bytes.n + 1);

    if (!copy)
        return false;
    if (bytes.n)
        memcpy(copy, bytes.p, bytes.n);
    free(given_back.bytes);
    given_back.bytes = copy;
    given_back.n = bytes.n;
    return true;
}

/* Standard input as a whole again. */
static hu_source *with_given_back(hu_source *file, hu_error *err)
{
    hu_source *whole = given_back.bytes ? hu_source_open_replay(file, given_back.bytes, given_back.n) : file;

    if (!whole) {
        hu_fail_memory(err);
        file->close(file);
        return NULL;
    }
    free(given_back.bytes);
    given_back.bytes = NULL;
    return whole;
}

/* A file that is standard input is opened anew, from where it stands, so that it can be read twice; else that itself. */
static int open_stdin(bool *owns)
{
    const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    struct stat st;
    int         fd = -1;

    if (at >= 0 && fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        fd = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && lseek(fd, at, SEEK_SET) < 0) {
        close(fd);
        fd = -1;
    }
    *owns = fd >= 0;
    return fd < 0 ? STDIN_FILENO : fd;
}

hu_source *hu_source_open_file(const char *path, const atomic_bool *stop, hu_error *err)
{
    const bool   is_stdin = strcmp(path, "-") == 0;
    file_source *f = malloc(sizeof *f);
    struct stat  st;

    if (!f) {
        hu_fail_memory(err);
        return NULL;
    }
    *f = (file_source){.base = {file_read, file_close, path, stop}, .owns_fd = true};
    if (is_stdin)
        f->fd = open_stdin(&f->owns_fd);
    if (!is_stdin && (f->fd = open(path, O_RDONLY | O_CLOEXEC)) < 0) {
        if (errno == ENOENT)
            hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "no such file; check the spelling, or pass - for standard input");
        else
            hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s; check the permissions", strerror(errno));
        free(f);
        return NULL;
    }
    if (fstat(f->fd, &st) == 0) {
        if (S_ISDIR(st.st_mode)) {
            hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "is a directory; pass a trace file in it");
            file_close(&f->base);
            return NULL;
        }
        f->may_block = !S_ISREG(st.st_mode);
        if (!is_stdin && !f->may_block) { /* what was passed as standard input may stand anywhere */
            f->base.read_at = file_read_at;
            f->base.bytes = (uint64_t)st.st_size;
        }
#ifdef POSIX_FADV_SEQUENTIAL
        posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
    }
    return is_stdin ? with_given_back(&f->base, err) : &f->base;
}

static int64_t memory_read(hu_source *source, void *to, size_t room, hu_error *err)
{
    memory_source *m = (memory_source *)source;
    const size_t   n = m->left.n < room ? m->left.n : room;

    (void)err;
    if (n)
        memcpy(to, m->left.p, n);
    m->left.p += n;
    m->left.n -= n;
    return (int64_t)n;
}

static void plain_free(hu_source *source)
{
    free(source);
}

hu_source *hu_source_open_memory(hu_str bytes, const char *name)
{
    memory_source *m = malloc(sizeof *m);

    if (!m)
        return NULL;
    *m = (memory_source){.base = {memory_read, plain_free, name, NULL}, .left = bytes};
    return &m->base;
}

static int64_t replay_read(hu_source *source, void *to, size_t room, hu_error *err)
{
    replay_source *r = (replay_source *)source;
    size_t         n = r->n - r->done;

    if (n == 0)
        return r->inner->read(r->inner, to, room, err);
    if (n > room)
        n = room;
    memcpy(to, r->head + r->done, n);
    r->done += n;
    return (int64_t)n;
}

static void replay_close(hu_source *source)
{
    replay_source *r = (replay_source *)source;

    r->inner->close(r->inner);
    free(r);
}

hu_source *hu_source_open_replay(hu_source *inner, const void *head, size_t n)
{
    replay_source *r = malloc(sizeof *r + n);

    if (!r)
        return NULL;
    *r = (replay_source){.base = {replay_read, replay_close, inner->name, NULL}, .inner = inner, .n = n};
    if (n)
        memcpy(r->head, head, n);
    return &r->base;
}
