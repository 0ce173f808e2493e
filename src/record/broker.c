/* SPDX-License-Identifier: Apache-2.0
 * broker.c - one connection at a time: who is it, what does it want, a descriptor. */
#include "record/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"
#include "protocol/broker.h"
#include "protocol/format.h"
#include "record/proc.h"

enum { BACKLOG = 256, PATIENCE_US = 100000, DEEPEST = 128 };

struct hu_broker {
    int       folder, socket, stop;
    pid_t     command;
    uint64_t  made;
    pthread_t thread;
};

/* What the command left behind is a child of ours where we wait for all. */
static bool is_of_command(const hu_broker *b, pid_t pid)
{
    const pid_t self = getpid();

    for (int depth = 0; pid > 1 && depth < DEEPEST; depth++) {
        if (pid == b->command || pid == self)
            return depth > 0 || pid == b->command;
        pid = hu_proc_parent(pid);
    }
    return false;
}

/* Is it a ring of this process: "PID-TICKS.ring", and nothing that leads elsewhere? */
static bool is_ring_of(const char *name, pid_t pid)
{
    char         prefix[16];
    const size_t n = (size_t)snprintf(prefix, sizeof prefix, "%d-", (int)pid);

    return strncmp(name, prefix, n) == 0 && strspn(name + n, "0123456789abcdef") == 16 &&
           strcmp(name + n + 16, ".ring") == 0;
}

static int open_wanted(hu_broker *b, pid_t peer, hu_broker_packet *p)
{
    struct timespec now;

    switch (p->what) {
    case HU_BROKER_CONTROL:
        return openat(b->folder, "control", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    case HU_BROKER_MAKE: /* a number that no ring of this process has had */
        clock_gettime(CLOCK_MONOTONIC, &now);
        b->made++;
        snprintf(p->name, sizeof p->name, "%d-%016llx.ring", (int)peer,
                 (unsigned long long)((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + b->made));
        return openat(b->folder, p->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    case HU_BROKER_GROW:
    case HU_BROKER_READ:
        if (!is_ring_of(p->name, p->what == HU_BROKER_GROW ? peer : hu_proc_parent(peer)))
            break;
        return openat(b->folder, p->name, (p->what == HU_BROKER_GROW ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
    default:
        break;
    }
    errno = EPERM;
    return -1;
}

static void answer(int connection, const hu_broker_packet *p, int fd)
{
    union {
        char           bytes[CMSG_SPACE(sizeof fd)];
        struct cmsghdr align;
    } control = {0};
    struct iovec    part = {(void *)(uintptr_t)p, sizeof *p};
    struct msghdr   message = {.msg_iov = &part, .msg_iovlen = 1};
    struct cmsghdr *c;

    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    (void)!sendmsg(connection, &message, MSG_NOSIGNAL); /* it may be gone */
}

static void serve(hu_broker *b, int connection)
{
    const struct timeval patience = {.tv_usec = PATIENCE_US};
    struct ucred         peer;
    socklen_t            n = sizeof peer;
    hu_broker_packet     p = {0};
    ssize_t              got;
    int                  fd;

    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 || peer.pid <= 0 || !is_of_command(b, peer.pid))
        return;
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    got = recv(connection, &p, sizeof p, MSG_TRUNC);
    if (got >= (ssize_t)sizeof p.version && p.version != HU_BROKER_VERSION) {
        p = (hu_broker_packet){.version = HU_BROKER_VERSION, .rc = -EPROTONOSUPPORT};
        answer(connection, &p, -1);
        return;
    }
    if (got != (ssize_t)sizeof p)
        return;
    p.name[sizeof p.name - 1] = '\0';
    fd = open_wanted(b, peer.pid, &p);
    p.rc = fd < 0 ? -errno : 0;
    answer(connection, &p, fd);
    if (fd >= 0)
        close(fd);
}

static void *work(void *context)
{
    hu_broker    *b = context;
    struct pollfd wait[] = {{.fd = b->socket, .events = POLLIN}, {.fd = b->stop, .events = POLLIN}};

    while (!(wait[1].revents & POLLIN)) {
        if (poll(wait, 2, -1) < 0 || !(wait[0].revents & POLLIN))
            continue;
        for (int connection; (connection = accept4(b->socket, NULL, NULL, SOCK_CLOEXEC)) >= 0; close(connection))
            serve(b, connection);
    }
    return NULL;
}

static void free_all(hu_broker *b)
{
    if (b->folder >= 0)
        close(b->folder);
    if (b->socket >= 0)
        close(b->socket);
    if (b->stop >= 0)
        close(b->stop);
    free(b);
}

static bool start_thread(hu_broker *b)
{
    sigset_t all, before;
    int      rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the supervisor's */
    rc = pthread_create(&b->thread, NULL, work, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0;
}

hu_broker *hu_broker_start(const char *session, pid_t command)
{
    hu_broker         *b = calloc(1, sizeof *b);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t          n;

    if (!b)
        return NULL;
    hu_broker_address(session, address.sun_path + 1);
    n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1));
    b->command = command;
    b->folder = open(session, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    b->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    b->stop = eventfd(0, EFD_CLOEXEC);
    if (b->folder >= 0 && b->socket >= 0 && b->stop >= 0 && bind(b->socket, (const struct sockaddr *)&address, n) == 0 &&
        listen(b->socket, BACKLOG) == 0 && start_thread(b))
        return b;
    free_all(b);
    return NULL;
}

void hu_broker_stop(hu_broker *b)
{
    if (!b)
        return;
    if (eventfd_write(b->stop, 1) == 0)
        pthread_join(b->thread, NULL);
    free_all(b);
}
