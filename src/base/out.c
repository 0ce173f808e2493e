/* SPDX-License-Identifier: Apache-2.0
 * out.c - a report on a full disk must not end with exit status 0, so errors are remembered until close. */
#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"

enum { BUFFER_BYTES = 64 * 1024, PATH_BYTES = 4096 };

struct hu_out {
    int       fd;
    int       error; /* errno of the first failure, 0 so far */
    bool      owns_fd;
    hu_arena *arena; /* of a text in memory; else NULL */
    char     *text;
    size_t    length, room;
    uint64_t  bytes; /* that were given so far */
    size_t    used;
    char      path[PATH_BYTES]; /* "" for a descriptor */
    char      partial[PATH_BYTES + 32];
    char      buffer[BUFFER_BYTES];
};

static void keep(hu_out *out)
{
    if (!out->error && out->length + out->used > out->room) {
        const size_t room = 2 * (out->length + out->used);
        char        *text = hu_arena_grow(out->arena, out->text, room);

        if (text) {
            out->text = text;
            out->room = room;
        } else {
            out->error = ENOMEM;
        }
    }
    if (!out->error && out->used) {
        memcpy(out->text + out->length, out->buffer, out->used);
        out->length += out->used;
    }
    out->used = 0;
}

static void flush(hu_out *out)
{
    size_t done = 0;

    if (out->arena) {
        keep(out);
        return;
    }
    while (done < out->used && !out->error) {
        const ssize_t n = write(out->fd, out->buffer + done, out->used - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            out->error = errno;
    }
    out->used = 0;
}

hu_out *hu_out_open_fd(int fd)
{
    hu_out *out = malloc(sizeof *out);

    if (!out)
        return NULL;
    out->fd = fd;
    out->error = 0;
    out->owns_fd = false;
    out->arena = NULL;
    out->bytes = 0;
    out->used = 0;
    out->path[0] = out->partial[0] = '\0';
    return out;
}

hu_out *hu_out_open_memory(hu_arena *arena)
{
    hu_out *out = hu_out_open_fd(-1);

    if (!out)
        return NULL;
    out->arena = arena;
    out->text = NULL;
    out->length = out->room = 0;
    return out;
}

bool hu_out_has_failed(const hu_out *out)
{
    return out->error != 0;
}

uint64_t hu_out_bytes(const hu_out *out)
{
    return out->bytes;
}

int hu_out_take(hu_out *out, hu_str *text, hu_error *err)
{
    flush(out);
    *text = (hu_str){out->text, out->length};
    if (out->error) {
        free(out);
        return hu_fail_memory(err);
    }
    free(out);
    return 0;
}

/* Is it a descriptor, or a link that leads to one: /dev/stdout, /dev/fd/3, /proc/self/fd/1? */
static bool leads_to_descriptor(const char *path)
{
    enum { MOST_LINKS = 40 };
    static const char *const starts[] = {"/dev/std", "/dev/fd/", "/proc/"};
    char                     at[PATH_MAX], target[PATH_MAX];

    if ((size_t)snprintf(at, sizeof at, "%s", path) >= sizeof at)
        return false;
    for (int i = 0; i < MOST_LINKS; i++) {
        const char *slash = strrchr(at, '/');
        size_t      folder = slash ? (size_t)(slash + 1 - at) : 0;
        ssize_t     n;

        for (size_t k = 0; k < HU_COUNT(starts); k++)
            if (strncmp(at, starts[k], strlen(starts[k])) == 0)
                return true;
        n = readlink(at, target, sizeof target - 1);
        if (n < 0)
            return false;
        target[n] = '\0';
        folder = target[0] == '/' ? 0 : folder;
        if (folder + (size_t)n >= sizeof at)
            return false;
        memcpy(at + folder, target, (size_t)n + 1);
    }
    return false;
}

/*
 * Makes `path` the file that a link leads to.  True for what must be written to and not replaced by a rename: devices,
 * pipes, and links to descriptors such as /dev/stdout, behind which may be a log that somebody appends to; and for a link
 * to a file that is not there yet.
 */
static bool follow(char path[PATH_BYTES])
{
    char        real[PATH_MAX];
    struct stat st;

    if (lstat(path, &st) < 0 || S_ISREG(st.st_mode))
        return false;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || leads_to_descriptor(path) || !realpath(path, real) ||
        strlen(real) >= PATH_BYTES)
        return true;
    memcpy(path, real, strlen(real) + 1);
    return false;
}

/*
 * A link that another user laid in a folder where everybody may write, such as /tmp: it would choose a file of ours that is
 * overwritten.  The kernel does not follow one where fs.protected_symlinks is set; by realpath we would go round that.
 */
static bool is_trap(const char *path)
{
    const mode_t open_to_all = S_ISVTX | S_IWOTH;
    const char  *slash = strrchr(path, '/');
    char         text[PATH_BYTES];
    struct stat  link, folder;

    if (lstat(path, &link) < 0 || !S_ISLNK(link.st_mode) || link.st_uid == geteuid())
        return false;
    snprintf(text, sizeof text, "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
    return stat(text, &folder) == 0 && (folder.st_mode & open_to_all) == open_to_all && folder.st_uid != link.st_uid;
}

hu_out *hu_out_open_file(const char *path, hu_error *err)
{
    hu_out *out = hu_out_open_fd(-1);

    if (!out) {
        hu_fail_memory(err);
        return NULL;
    }
    if ((size_t)snprintf(out->path, sizeof out->path, "%s", path) >= sizeof out->path) {
        hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "the path is longer than %d bytes; choose a shorter one", PATH_BYTES);
        free(out);
        return NULL;
    }
    if (is_trap(out->path)) {
        hu_fail(err, HU_EIO, path, HU_NO_OFFSET,
                "is a link of another user, in a folder that everybody may write to; choose another name or folder");
        free(out);
        return NULL;
    }
    out->owns_fd = true;
    if (follow(out->path)) {
        out->fd = open(out->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    } else {
        snprintf(out->partial, sizeof out->partial, "%s.%ld.partial", out->path, (long)getpid());
        out->fd = open(out->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (out->fd < 0) {
        hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "cannot write: %s; check the folder and its permissions", strerror(errno));
        free(out);
        return NULL;
    }
    return out;
}

void hu_out_abandon(hu_out *out)
{
    if (!out)
        return;
    if (out->owns_fd)
        close(out->fd);
    if (out->partial[0])
        unlink(out->partial);
    free(out);
}

int hu_out_close(hu_out *out, hu_error *err)
{
    int rc = 0;

    if (!out)
        return 0;
    flush(out);
    if (out->owns_fd && close(out->fd) < 0 && !out->error)
        out->error = errno;
    out->owns_fd = false;
    if (!out->error && out->partial[0] && rename(out->partial, out->path) < 0)
        out->error = errno;
    if (out->error)
        rc = hu_fail(err, HU_EIO, out->path[0] ? out->path : "standard output", HU_NO_OFFSET, "write incomplete: %s; %s",
                     strerror(out->error),
                     out->error == EPIPE ? "the reader closed the pipe" : "free some space or choose another place");
    else
        out->partial[0] = '\0';
    hu_out_abandon(out);
    return rc;
}

void hu_out_write(hu_out *out, const void *bytes, size_t n)
{
    const char *p = bytes;

    out->bytes += n;
    while (n) {
        size_t room = sizeof out->buffer - out->used;
        size_t part = n < room ? n : room;

        memcpy(out->buffer + out->used, p, part);
        out->used += part;
        p += part;
        n -= part;
        if (out->used == sizeof out->buffer)
            flush(out);
    }
}

void hu_out_text(hu_out *out, const char *text)
{
    hu_out_write(out, text, strlen(text));
}

void hu_out_str(hu_out *out, hu_str s)
{
    hu_out_write(out, s.p, s.n);
}

void hu_out_i64(hu_out *out, int64_t value)
{
    char text[HU_NUMBER_BYTES];

    hu_out_write(out, text, hu_format_i64(text, value));
}

void hu_out_fixed(hu_out *out, double value, int decimals)
{
    char text[HU_NUMBER_BYTES];

    hu_out_write(out, text, hu_format_fixed(text, value, decimals));
}

void hu_out_printf(hu_out *out, const char *format, ...)
{
    char    text[4096];
    va_list args;
    int     n;

    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        hu_out_write(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}
