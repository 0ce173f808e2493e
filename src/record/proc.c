/* SPDX-License-Identifier: Apache-2.0
 * proc.c - files of the kernel, which may be gone at any moment. */
#include "record/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAPS_MOST = 64 << 20, PATH_MOST = 4096 };

size_t hu_proc_read(char *text, size_t room, const char *format, ...)
{
    char    path[96];
    va_list args;
    ssize_t n;
    int     fd;

    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, text, room - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

uint64_t hu_proc_signals(pid_t pid, const char *key)
{
    char        text[4096];
    const char *line;

    hu_proc_read(text, sizeof text, "/proc/%d/status", (int)pid);
    line = strstr(text, key);
    return line ? strtoull(line + strlen(key), NULL, 16) : 0;
}

pid_t hu_proc_parent(pid_t pid)
{
    char text[512], *name_end;

    hu_proc_read(text, sizeof text, "/proc/%d/stat", (int)pid);
    name_end = strrchr(text, ')');
    return name_end && strlen(name_end) > 4 ? (pid_t)strtol(name_end + 4, NULL, 10) : 0;
}

bool hu_proc_take_hex(hu_str *line, char end, uint64_t *out)
{
    size_t i = 0;

    for (*out = 0; i < line->n && i < 16; i++) {
        const char c = line->p[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            break;
        *out = *out << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (i == 0 || i == line->n || line->p[i] != end)
        return false;
    *line = (hu_str){line->p + i + 1, line->n - i - 1};
    return true;
}

void hu_proc_skip_word(hu_str *line)
{
    while (line->n && *line->p != ' ')
        *line = (hu_str){line->p + 1, line->n - 1};
    while (line->n && *line->p == ' ')
        *line = (hu_str){line->p + 1, line->n - 1};
}

hu_str hu_proc_read_maps(hu_str ring, hu_arena *arena)
{
    char        path[PATH_MOST + 8];
    struct stat about;
    char       *text;
    size_t      n = 0;
    int         fd;

    if (ring.n < 5 || ring.n > PATH_MOST)
        return HU_STR("");
    memcpy(path, ring.p, ring.n - 5);
    memcpy(path + ring.n - 5, ".maps", 6);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return HU_STR("");
    if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || about.st_size > MAPS_MOST)
        about.st_size = 0;
    text = hu_arena_alloc(arena, (size_t)about.st_size + 1);
    while (text && n < (size_t)about.st_size) {
        const ssize_t got = read(fd, text + n, (size_t)about.st_size - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(fd);
    return (hu_str){text, n};
}
