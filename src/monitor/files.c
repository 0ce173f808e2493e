/* SPDX-License-Identifier: Apache-2.0
 * files.c - read(2) and getdents64(2) into buffers of the caller: stdio and opendir would allocate at each look. */
#include "monitor/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.h"

/* O_NONBLOCK: a FIFO in a captured tree must not hold up the sampler. */
enum { READ_FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, NUMBER_ROOM = 64 };

int hu_files_root(const char *root)
{
    return open(root && root[0] ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int hu_files_folder(int folder, const char *name)
{
    return openat(folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

size_t hu_files_bytes(int folder, const char *name, char *bytes, size_t room)
{
    const int fd = openat(folder, name, READ_FLAGS);
    size_t    n = 0;
    ssize_t   got = 0;
    int       why;

    if (fd < 0)
        return 0;
    while (n < room && (got = read(fd, bytes + n, room - n)) > 0)
        n += (size_t)got;
    why = got < 0 ? errno : ENODATA;
    close(fd);
    if (n == 0)
        errno = why;
    return n;
}

hu_str hu_files_text(int folder, const char *name, char *text, size_t room)
{
    size_t n = hu_files_bytes(folder, name, text, room);

    while (n && is_blank(text[n - 1]))
        n--;
    return (hu_str){text, n};
}

static bool parse_hexadecimal(hu_str s, uint64_t *out)
{
    uint64_t value = 0;

    if (s.n < 3 || s.n > 18)
        return false;
    for (size_t i = 2; i < s.n; i++) {
        const char c = hu_char_lower(s.p[i]);

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *out = value;
    return true;
}

bool hu_files_number(int folder, const char *name, uint64_t *out)
{
    char         text[NUMBER_ROOM];
    const hu_str s = hu_files_text(folder, name, text, sizeof text);

    return hu_str_starts(s, HU_STR("0x")) ? parse_hexadecimal(s, out) : hu_parse_u64(s, out);
}

bool hu_files_signed(int folder, const char *name, int64_t *out)
{
    char text[NUMBER_ROOM];

    return hu_parse_i64(hu_files_text(folder, name, text, sizeof text), out);
}

bool hu_folder_open(const char *root, const char *folder, const char *file, void **state)
{
    const int  top = hu_files_root(root), fd = top >= 0 ? hu_files_folder(top, folder) : -1;
    hu_folder *f = fd >= 0 && faccessat(fd, file, R_OK, 0) == 0 ? malloc(sizeof *f) : NULL;

    if (top >= 0)
        close(top);
    if (!f) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    f->fd = fd;
    *state = f;
    return true;
}

void hu_folder_close(void *state)
{
    const hu_folder *f = state;

    close(f->fd);
    free(state);
}

hu_str hu_cut(hu_str *rest, char end)
{
    const char *at;

    if (rest->n == 0)
        return *rest;
    at = memchr(rest->p, end, rest->n);
    const hu_str front = at ? (hu_str){rest->p, (size_t)(at - rest->p)} : *rest;
    const size_t taken = front.n + (at != NULL);

    *rest = (hu_str){rest->p + taken, rest->n - taken};
    return front;
}

hu_str hu_cut_word(hu_str *rest)
{
    size_t from = 0, to;

    if (rest->n == 0)
        return *rest;
    while (from < rest->n && is_blank(rest->p[from]))
        from++;
    for (to = from; to < rest->n && !is_blank(rest->p[to]);)
        to++;
    const hu_str word = {rest->p + from, to - from};

    *rest = (hu_str){rest->p + to, rest->n - to};
    return word;
}

void hu_str_copy(char *out, size_t room, hu_str s)
{
    const size_t n = s.n < room ? s.n : room - 1;

    if (n)
        memcpy(out, s.p, n);
    out[n] = '\0';
}

bool hu_lines_open(hu_lines *l, int folder, const char *name)
{
    l->fd = openat(folder, name, READ_FLAGS);
    l->from = l->to = 0;
    l->skips = false;
    return l->fd >= 0;
}

void hu_lines_close(hu_lines *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

/* Adds to what is in the buffer; false at the end of the file. */
static bool fill(hu_lines *l)
{
    ssize_t got;

    if (l->fd < 0)
        return false;
    memmove(l->text, l->text + l->from, l->to - l->from);
    l->to -= l->from;
    l->from = 0;
    got = read(l->fd, l->text + l->to, sizeof l->text - l->to);
    if (got <= 0) {
        hu_lines_close(l);
        return false;
    }
    l->to += (size_t)got;
    return true;
}

bool hu_lines_next(hu_lines *l, hu_str *line)
{
    for (;;) {
        const char *at = l->to > l->from ? memchr(l->text + l->from, '\n', l->to - l->from) : NULL;
        const bool  is_full = l->from == 0 && l->to == sizeof l->text, skipped = l->skips;

        if (!at && !is_full && fill(l))
            continue;
        if (!at && l->from == l->to)
            return false;
        *line = (hu_str){l->text + l->from, at ? (size_t)(at - l->text) - l->from : l->to - l->from};
        l->from += line->n + (at != NULL);
        l->skips = !at;
        if (!skipped)
            return true;
    }
}

bool hu_names_open(hu_names *n, int folder, const char *name)
{
    n->fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    n->from = n->to = 0;
    return n->fd >= 0;
}

void hu_names_close(hu_names *n)
{
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
}

const char *hu_names_next(hu_names *n)
{
    while (n->fd >= 0) {
        const struct dirent *entry; /* as the kernel has it, where offsets are of 64 bits */

        if (n->from >= n->to) {
            n->from = 0;
            n->to = syscall(SYS_getdents64, n->fd, n->entries, sizeof n->entries);
            if (n->to <= 0)
                break;
        }
        entry = (const struct dirent *)(const void *)(n->entries + n->from);
        n->from += entry->d_reclen;
        if (entry->d_name[0] != '.')
            return entry->d_name;
    }
    hu_names_close(n);
    return NULL;
}
