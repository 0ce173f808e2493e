/* SPDX-License-Identifier: Apache-2.0
 * broker.c - files of the session from the supervisor, for a process that became another user or has another root.
 *
 * By system calls alone, and with a limit on time: a supervisor that is stopped must not stop the program. */
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "inject/process.h"
#include "inject/sys.h"
#include "protocol/broker.h"
#include "base/banned.h"

enum { PATIENCE_MS = 500 };

/* Is it root's, or of this process's user?  Whoever else waits at that address is not the supervisor. */
static bool is_trusted(int fd)
{
    struct ucred peer;
    socklen_t    n = sizeof peer;

    return HU_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
           (peer.uid == 0 || (long)peer.uid == HU_SYS(SYS_geteuid));
}

static int connect_to(const char *session)
{
    const struct timeval patience = {.tv_usec = PATIENCE_MS * 1000};
    struct sockaddr_un   address = {.sun_family = AF_UNIX};
    const int            fd = (int)HU_SYS(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    size_t               n;

    if (fd < 0)
        return fd;
    hu_broker_address(session, address.sun_path + 1);
    n = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1);
    (void)HU_SYS(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)HU_SYS(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (HU_SYS(SYS_connect, fd, &address, n) == 0 && is_trusted(fd))
        return fd;
    hu_sys_close(fd);
    return -EACCES;
}

static int descriptor_of(struct msghdr *message)
{
    const struct cmsghdr *c = CMSG_FIRSTHDR(message);
    int                   fd = -EACCES;

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

int hu_broker_open(const char *session, int what, char *name)
{
    union {
        char           bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    hu_broker_packet p = {.version = HU_BROKER_VERSION, .what = (uint32_t)what};
    struct iovec     part = {&p, sizeof p};
    struct msghdr    message = {
           .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    const int connection = connect_to(session);
    int       fd = connection < 0 ? connection : -EACCES;

    if (connection < 0)
        return fd;
    if (name)
        memcpy(p.name, name, sizeof p.name);
    if (HU_SYS(SYS_sendto, connection, &p, sizeof p, MSG_NOSIGNAL, NULL, 0) == (long)sizeof p &&
        HU_SYS(SYS_recvmsg, connection, &message, MSG_CMSG_CLOEXEC) == (long)sizeof p)
        fd = p.version != HU_BROKER_VERSION ? -EPROTONOSUPPORT : p.rc < 0 ? p.rc : descriptor_of(&message);
    hu_sys_close(connection);
    p.name[sizeof p.name - 1] = '\0';
    if (name && fd >= 0)
        memcpy(name, p.name, sizeof p.name);
    return fd;
}

/* The files of the session go by "SESSION/NAME". */
int hu_broker_reopen(const char *path, int what)
{
    char         name[HU_BROKER_NAME_BYTES] = "";
    const char  *slash = strrchr(path, '/');
    const size_t n = slash ? strlen(slash + 1) : 0;

    if (n == 0 || n >= sizeof name)
        return -ENOENT;
    memcpy(name, slash + 1, n);
    return hu_broker_open(hu_the_process.session, what, name);
}
