/* SPDX-License-Identifier: Apache-2.0
 * osrt_open.c - calls that make a descriptor, or let its number mean something else.
 *
 * What was known of the number is forgotten whether the gate is open or not.  A record of `close` says what the
 * descriptor was only when it is known already: to ask takes as long as to close.
 */
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "inject/osrt.h"
#include "base/banned.h"

#ifndef O_TMPFILE
#define O_TMPFILE (020000000 | O_DIRECTORY)
#endif

/* The third argument is there only for these. */
/* clang-format off */
#define MODE_OF(flags, last)                                                          \
    mode_t  mode = 0;                                                                 \
    va_list args;                                                                     \
                                                                                      \
    if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) {                  \
        va_start(args, last);                                                         \
        mode = va_arg(args, mode_t);                                                  \
        va_end(args);                                                                 \
    }
/* clang-format on */

#define OPEN(row, symbol, params, last, args, otherwise)                                 \
    HU_REAL(symbol)                                                                      \
    HU_EXPORT int symbol params                                                          \
    {                                                                                    \
        MODE_OF(flags, last)                                                             \
        __typeof__(symbol) *const real = HU_FIND(symbol);                                \
        hu_osrt_span              span;                                                  \
        bool                      is_timed;                                              \
        int                       fd;                                                    \
                                                                                         \
        if (!real)                                                                       \
            return (int)(otherwise);                                                     \
        is_timed = hu_gate_open(HU_DOOR_OSRT) && hu_osrt_enter(&span, HU_OS_CALL_##row); \
        fd = real args;                                                                  \
        hu_fd_forget(fd);                                                                \
        if (is_timed && hu_osrt_leave(&span))                                            \
            hu_osrt_opened(&span, path, fd);                                             \
        return fd;                                                                       \
    }

OPEN(open, open, (const char *path, int flags, ...), flags, (path, flags, mode),
     HU_RAW(SYS_openat, AT_FDCWD, path, flags, mode))
OPEN(openat, openat, (int at, const char *path, int flags, ...), flags, (at, path, flags, mode),
     HU_RAW(SYS_openat, at, path, flags, mode))

#define CREATE O_CREAT | O_WRONLY | O_TRUNC

HU_WRAP(creat, int, creat, (const char *path, mode_t mode), (path, mode), HU_RAW(SYS_openat, AT_FDCWD, path, CREATE, mode),
        (hu_fd_forget(rc), hu_osrt_opened(&span, path, rc)))

#ifdef __GLIBC__
OPEN(open, open64, (const char *path, int flags, ...), flags, (path, flags, mode),
     HU_RAW(SYS_openat, AT_FDCWD, path, flags, mode))
OPEN(openat, openat64, (int at, const char *path, int flags, ...), flags, (at, path, flags, mode),
     HU_RAW(SYS_openat, at, path, flags, mode))
HU_WRAP(creat, int, creat64, (const char *path, mode_t mode), (path, mode), HU_RAW(SYS_openat, AT_FDCWD, path, CREATE, mode),
        (hu_fd_forget(rc), hu_osrt_opened(&span, path, rc)))

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);

HU_WRAP(open, int, __open_2, (const char *path, int flags), (path, flags), HU_RAW(SYS_openat, AT_FDCWD, path, flags, 0),
        (hu_fd_forget(rc), hu_osrt_opened(&span, path, rc)))
HU_WRAP(open, int, __open64_2, (const char *path, int flags), (path, flags), HU_RAW(SYS_openat, AT_FDCWD, path, flags, 0),
        (hu_fd_forget(rc), hu_osrt_opened(&span, path, rc)))
HU_WRAP(openat, int, __openat_2, (int at, const char *path, int flags), (at, path, flags),
        HU_RAW(SYS_openat, at, path, flags, 0), (hu_fd_forget(rc), hu_osrt_opened(&span, path, rc)))
HU_WRAP(openat, int, __openat64_2, (int at, const char *path, int flags), (at, path, flags),
        HU_RAW(SYS_openat, at, path, flags, 0), (hu_fd_forget(rc), hu_osrt_opened(&span, path, rc)))
#endif

HU_REAL(close)
HU_TIMED int timed_close(int fd)
{
    __typeof__(close) *const real = HU_FIND(close);
    hu_osrt_span             span;
    const hu_fd_facts        was = hu_fd_recall(fd);
    int                      rc;

    hu_fd_forget(fd);
    if (!real)
        return (int)HU_RAW(SYS_close, fd);
    if (!hu_gate_open(HU_DOOR_OSRT) || !hu_osrt_enter(&span, HU_OS_CALL_close))
        return real(fd);
    rc = real(fd);
    if (hu_osrt_leave(&span))
        hu_osrt_known(&span, fd, &was, rc);
    return rc;
}

HU_EXPORT int close(int fd)
{
    if (!real_close || hu_gate_open(HU_DOOR_OSRT))
        return timed_close(fd);
    hu_fd_forget(fd);
    return real_close(fd);
}

/* What only changes the meaning of numbers is not measured. */
#define FORGET(type, symbol, params, args, otherwise, what) \
    HU_REAL(symbol)                                         \
    HU_EXPORT type symbol params                            \
    {                                                       \
        __typeof__(symbol) *const real = HU_FIND(symbol);   \
                                                            \
        what;                                               \
        return real ? real args : (type)(otherwise);        \
    }

FORGET(int, dup2, (int from, int to), (from, to), from == to ? from : HU_RAW(SYS_dup3, from, to, 0), hu_fd_forget(to))
FORGET(int, dup3, (int from, int to, int flags), (from, to, flags), HU_RAW(SYS_dup3, from, to, flags), hu_fd_forget(to))

#ifdef __GLIBC__
int  close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);

FORGET(int, close_range, (unsigned first, unsigned last, int flags), (first, last, flags),
       HU_RAW(SYS_close_range, first, last, flags), hu_fd_forget_range(first, last))

HU_REAL(closefrom)
HU_EXPORT void closefrom(int first)
{
    __typeof__(closefrom) *const real = HU_FIND(closefrom);

    hu_fd_forget_range(first < 0 ? 0 : (unsigned)first, ~0u);
    if (real)
        real(first);
    else
        (void)HU_RAW(SYS_close_range, first, ~0u, 0);
}
#endif

/* A new descriptor may have a number whose closing we did not see (by the kernel, or inside of the C library). */
#define FRESH(symbol, params, args, otherwise)                              \
    HU_REAL(symbol)                                                         \
    HU_EXPORT int symbol params                                             \
    {                                                                       \
        __typeof__(symbol) *const real = HU_FIND(symbol);                   \
        const int                 fd = real ? real args : (int)(otherwise); \
                                                                            \
        hu_fd_forget(fd);                                                   \
        return fd;                                                          \
    }

#define FRESH_PAIR(symbol, params, args, otherwise)                         \
    HU_REAL(symbol)                                                         \
    HU_EXPORT int symbol params                                             \
    {                                                                       \
        __typeof__(symbol) *const real = HU_FIND(symbol);                   \
        const int                 rc = real ? real args : (int)(otherwise); \
                                                                            \
        if (rc == 0) {                                                      \
            hu_fd_forget(fds[0]);                                           \
            hu_fd_forget(fds[1]);                                           \
        }                                                                   \
        return rc;                                                          \
    }

FRESH(dup, (int fd_), (fd_), HU_RAW(SYS_dup, fd_))
FRESH(socket, (int domain, int type, int protocol), (domain, type, protocol), HU_RAW(SYS_socket, domain, type, protocol))
FRESH(eventfd, (unsigned start, int flags), (start, flags), HU_RAW(SYS_eventfd2, start, flags))
FRESH(epoll_create1, (int flags), (flags), HU_RAW(SYS_epoll_create1, flags))
FRESH_PAIR(pipe, (int fds[2]), (fds), HU_RAW(SYS_pipe2, fds, 0))
FRESH_PAIR(pipe2, (int fds[2], int flags), (fds, flags), HU_RAW(SYS_pipe2, fds, flags))
FRESH_PAIR(socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds),
           HU_RAW(SYS_socketpair, domain, type, protocol, fds))
