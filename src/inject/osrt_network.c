/* SPDX-License-Identifier: Apache-2.0
 * osrt_network.c - sockets: connecting, accepting, sending, receiving, and asking for names. */
#include <netdb.h>

#include "inject/osrt.h"
#include "base/banned.h"

#define ON_FD hu_osrt_fd(&span, fd, rc)

/* glibc declares addresses as a union of pointers, and C allows no other definition: it is passed on as it came. */
#ifdef __GLIBC__
#define TO             __CONST_SOCKADDR_ARG
#define FROM           __SOCKADDR_ARG
#define PLAIN(address) ((const struct sockaddr *)(address).__sockaddr__)
#else
#define TO             const struct sockaddr *
#define FROM           struct sockaddr *
#define PLAIN(address) ((const struct sockaddr *)(address))
#endif

static socklen_t size_of(const socklen_t *bytes)
{
    return bytes ? *bytes : 0;
}

/* The sum of what several messages carried. */
static int64_t total(const struct mmsghdr *m, int n)
{
    int64_t bytes = n < 0 ? -1 : 0;

    for (int i = 0; i < n; i++)
        bytes += m[i].msg_len;
    return bytes;
}

HU_WRAP(send, ssize_t, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags),
        HU_RAW(SYS_sendto, fd, from, n, flags, NULL, 0), ON_FD)
HU_WRAP(recv, ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags),
        HU_RAW(SYS_recvfrom, fd, to, n, flags, NULL, 0), ON_FD)
HU_WRAP(sendmsg, ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags),
        HU_RAW(SYS_sendmsg, fd, m, flags), hu_osrt_peer(&span, fd, m->msg_name, m->msg_namelen, rc))
HU_WRAP(recvmsg, ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), HU_RAW(SYS_recvmsg, fd, m, flags),
        hu_osrt_peer(&span, fd, m->msg_name, rc < 0 ? 0 : m->msg_namelen, rc))
HU_WRAP(sendmmsg, int, sendmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags), (fd, m, n, flags),
        HU_RAW(SYS_sendmmsg, fd, m, n, flags), hu_osrt_fd(&span, fd, total(m, rc)))
HU_WRAP(recvmmsg, int, recvmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *until),
        (fd, m, n, flags, until), HU_RAW(SYS_recvmmsg, fd, m, n, flags, until), hu_osrt_fd(&span, fd, total(m, rc)))
HU_WRAP(getaddrinfo, int, getaddrinfo,
        (const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found),
        (name, service, hints, found), EAI_SYSTEM, hu_osrt_text(&span, name ? name : service, rc == EAI_SYSTEM ? errno : 0))

HU_WRAP(sendto, ssize_t, sendto, (int fd, const void *from, size_t n, int flags, TO peer, socklen_t bytes),
        (fd, from, n, flags, peer, bytes), HU_RAW(SYS_sendto, fd, from, n, flags, PLAIN(peer), bytes),
        hu_osrt_peer(&span, fd, PLAIN(peer), bytes, rc))
HU_WRAP(recvfrom, ssize_t, recvfrom, (int fd, void *to, size_t n, int flags, FROM peer, socklen_t *bytes),
        (fd, to, n, flags, peer, bytes), HU_RAW(SYS_recvfrom, fd, to, n, flags, PLAIN(peer), bytes),
        hu_osrt_peer(&span, fd, rc < 0 ? NULL : PLAIN(peer), size_of(bytes), rc))
HU_WRAP(connect, int, connect, (int fd, TO peer, socklen_t bytes), (fd, peer, bytes),
        HU_RAW(SYS_connect, fd, PLAIN(peer), bytes), (hu_fd_forget(fd), hu_osrt_peer(&span, fd, PLAIN(peer), bytes, rc)))

#define ACCEPT(symbol, params, args, otherwise)           \
    HU_WRAP(symbol, int, symbol, params, args, otherwise, \
            (hu_fd_forget(rc), hu_osrt_fd(&span, rc < 0 ? fd : rc, rc < 0 ? -1 : 0)))

ACCEPT(accept, (int fd, FROM peer, socklen_t *bytes), (fd, peer, bytes), HU_RAW(SYS_accept4, fd, PLAIN(peer), bytes, 0))
ACCEPT(accept4, (int fd, FROM peer, socklen_t *bytes, int flags), (fd, peer, bytes, flags),
       HU_RAW(SYS_accept4, fd, PLAIN(peer), bytes, flags))

#ifdef __GLIBC__
ssize_t __recv_chk(int fd, void *to, size_t n, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *to, size_t n, size_t room, int flags, FROM peer, socklen_t *bytes);

HU_WRAP(recv, ssize_t, __recv_chk, (int fd, void *to, size_t n, size_t room, int flags), (fd, to, n, room, flags),
        HU_RAW(SYS_recvfrom, fd, to, n, flags, NULL, 0), ON_FD)
HU_WRAP(recvfrom, ssize_t, __recvfrom_chk, (int fd, void *to, size_t n, size_t room, int flags, FROM peer, socklen_t *bytes),
        (fd, to, n, room, flags, peer, bytes), HU_RAW(SYS_recvfrom, fd, to, n, flags, PLAIN(peer), bytes),
        hu_osrt_peer(&span, fd, rc < 0 ? NULL : PLAIN(peer), size_of(bytes), rc))
#endif
