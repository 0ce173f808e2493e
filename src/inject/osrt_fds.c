/* SPDX-License-Identifier: Apache-2.0
 * osrt_fds.c - what a descriptor is, and where it leads: file, pipe, socket and its peer, terminal, event.
 *
 * Asked of the kernel when a call on it is recorded, that is, seldom; remembered until a wrapper sees that the number
 * means something else (close, dup2, fclose, open ...).  Descriptors over 65,535 are asked about each time.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "inject/osrt.h"
#include "base/banned.h"

/* Little of the stack: it may be that of a signal handler. */
enum { LINE_ROOM = 160, PATH_ROOM = 1024 };

uint32_t hu_fds[HU_FDS_KNOWN];

/* Text without the C library's formatting, which may allocate. */
typedef struct {
    char   text[LINE_ROOM];
    size_t n;
} line;

static void put(line *to, const char *text, size_t n)
{
    if (n > sizeof to->text - to->n)
        n = sizeof to->text - to->n;
    memcpy(to->text + to->n, text, n);
    to->n += n;
}

static void put_number(line *to, unsigned value, unsigned base)
{
    char   digits[12];
    size_t n = sizeof digits;

    do
        digits[--n] = "0123456789abcdef"[value % base];
    while ((value /= base) > 0);
    put(to, digits + n, sizeof digits - n);
}

static void put_v4(line *to, const uint8_t *a)
{
    for (int i = 0; i < 4; i++) {
        if (i > 0)
            put(to, ".", 1);
        put_number(to, a[i], 10);
    }
}

/* RFC 5952: the longest run of two zero groups or more is "::". */
static void put_v6(line *to, const uint8_t *a)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    int                  from = -1, length = 1;

    if (memcmp(a, mapped, sizeof mapped) == 0) {
        put_v4(to, a + sizeof mapped);
        return;
    }
    for (int i = 0; i < 8; i++) {
        int n = 0;

        while (i + n < 8 && a[2 * (i + n)] == 0 && a[2 * (i + n) + 1] == 0)
            n++;
        if (n > length) {
            from = i;
            length = n;
        }
    }
    put(to, "[", 1);
    for (int i = 0; i < 8; i++) {
        if (i == from) {
            put(to, "::", 2);
            i += length - 1;
            continue;
        }
        if (i > 0 && i != from + length)
            put(to, ":", 1);
        put_number(to, (unsigned)a[2 * i] << 8 | a[2 * i + 1], 16);
    }
    put(to, "]", 1);
}

static void put_port(line *to, in_port_t port)
{
    put(to, ":", 1);
    put_number(to, ntohs(port), 10);
}

uint32_t hu_fd_peer(const struct sockaddr *peer, socklen_t bytes)
{
    line to = {.n = 0};

    if (bytes < sizeof peer->sa_family)
        return 0;
    if (peer->sa_family == AF_INET && bytes >= sizeof(struct sockaddr_in)) {
        const struct sockaddr_in *v4 = (const void *)peer;

        put_v4(&to, (const uint8_t *)&v4->sin_addr);
        put_port(&to, v4->sin_port);
    } else if (peer->sa_family == AF_INET6 && bytes >= sizeof(struct sockaddr_in6)) {
        const struct sockaddr_in6 *v6 = (const void *)peer;

        put_v6(&to, v6->sin6_addr.s6_addr);
        put_port(&to, v6->sin6_port);
    } else if (peer->sa_family == AF_UNIX && bytes > offsetof(struct sockaddr_un, sun_path)) {
        const char  *name = ((const struct sockaddr_un *)(const void *)peer)->sun_path;
        const size_t n = bytes - offsetof(struct sockaddr_un, sun_path);

        put(&to, "unix:", 5);
        if (name[0] == '\0') { /* an abstract name: any bytes, not ended */
            put(&to, "@", 1);
            put(&to, name + 1, strnlen(name + 1, n - 1));
        } else {
            put(&to, name, strnlen(name, n));
        }
    }
    return hu_osrt_name(to.text, to.n);
}

static hu_fd_kind kind_of_socket(int fd)
{
    int       domain = 0;
    socklen_t bytes = sizeof domain;

    (void)HU_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes);
    return domain == AF_UNIX ? HU_FD_LOCAL : HU_FD_SOCKET;
}

static hu_fd_kind kind_of(int fd)
{
    struct stat about;
    char        terminal[256];

    if (HU_SYS(SYS_fstat, fd, &about) < 0)
        return HU_FD_UNKNOWN;
    switch (about.st_mode & S_IFMT) {
    case S_IFREG:
    case S_IFBLK:
    case S_IFDIR:
        return HU_FD_FILE;
    case S_IFIFO:
        return HU_FD_PIPE;
    case S_IFSOCK:
        return kind_of_socket(fd);
    case S_IFCHR:
        return HU_SYS(SYS_ioctl, fd, TCGETS, terminal) == 0 ? HU_FD_TERMINAL : HU_FD_OTHER;
    case 0:
        return HU_FD_EVENT; /* an anonymous inode has no type */
    default:
        return HU_FD_OTHER;
    }
}

static uint32_t path_of(int fd, hu_fd_kind kind)
{
    line name = {.n = 0};
    char target[PATH_ROOM];
    long n;

    if (kind == HU_FD_SOCKET || kind == HU_FD_LOCAL) {
        struct sockaddr_storage peer;
        socklen_t               bytes = sizeof peer;

        return HU_SYS(SYS_getpeername, fd, &peer, &bytes) == 0 ? hu_fd_peer((const void *)&peer, bytes) : 0;
    }
    if (kind != HU_FD_FILE && kind != HU_FD_TERMINAL && kind != HU_FD_OTHER)
        return 0; /* the number of a pipe tells nobody anything */
    put(&name, "/proc/self/fd/", 14);
    put_number(&name, (unsigned)fd, 10);
    put(&name, "", 1);
    n = HU_SYS(SYS_readlinkat, AT_FDCWD, name.text, target, sizeof target);
    return n > 0 ? hu_osrt_name(target, (size_t)n) : 0;
}

hu_fd_facts hu_fd_get(int fd)
{
    hu_fd_facts f = hu_fd_recall(fd);

    if (fd < 0)
        return f;
    if (f.kind == HU_FD_UNKNOWN)
        f.kind = kind_of(fd);
    if (f.path == 0 && f.kind != HU_FD_UNKNOWN && hu_the_control->wants_paths)
        f.path = path_of(fd, f.kind);
    if (fd < HU_FDS_KNOWN)
        __atomic_store_n(&hu_fds[fd], (uint32_t)f.kind | f.path << HU_FD_KIND_BITS, __ATOMIC_RELAXED);
    return f;
}

void hu_fd_forget_range(unsigned first, unsigned last)
{
    for (unsigned fd = first; fd <= last && fd < HU_FDS_KNOWN; fd++)
        hu_fd_forget((int)fd);
}
