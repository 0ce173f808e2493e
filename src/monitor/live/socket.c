/* SPDX-License-Identifier: Apache-2.0
 * socket.c - a Unix datagram socket that tells who sent (SCM_CREDENTIALS, unix(7)). */
#include "monitor/live/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { ALL_MAY_SEND = 0666, LOCK_TRIES = 100, LOCK_US = 10000, QUEUE_BYTES = 1 << 20 };

static bool folder_is_there(const char *path, mode_t mode)
{
    char  folder[HU_LIVE_PATH];
    char *slash;

    snprintf(folder, sizeof folder, "%s", path);
    slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return slash != NULL;
    *slash = '\0';
    return mkdir(folder, mode) == 0 || errno == EEXIST;
}

bool hu_live_socket_path(char out[HU_LIVE_PATH])
{
    const char *service = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");
    int         n;

    if (service && service[0] == '/' && !strchr(service, ':'))
        n = snprintf(out, HU_LIVE_PATH, "%s/job.sock", service);
    else if (geteuid() == 0)
        n = snprintf(out, HU_LIVE_PATH, "%s", HU_LIVE_SOCKET);
    else if (user && user[0] == '/')
        n = snprintf(out, HU_LIVE_PATH, "%s%s", user, HU_LIVE_SOCKET_OF_USER);
    else
        return false;
    return n < HU_LIVE_PATH && folder_is_there(out, geteuid() == 0 ? 0755 : 0700);
}

/* The folder, locked, so that of two monitors that begin at once one sees the other's socket. */
static int lock_folder(const char *path)
{
    char folder[HU_LIVE_PATH];
    int  fd;

    snprintf(folder, sizeof folder, "%s", path);
    if (strrchr(folder, '/'))
        strrchr(folder, '/')[folder[0] == '/' && !strchr(folder + 1, '/')] = '\0';
    else
        snprintf(folder, sizeof folder, ".");
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB) != 0; i++)
        usleep(LOCK_US);
    return fd;
}

/* Takes away a socket that nobody reads, or a link to none.  False: somebody does, or it is another file. */
static bool make_place(const char *path, const struct sockaddr_un *address, char *why, size_t room)
{
    struct stat is;
    int         fd, error;
    bool        is_dead;

    if (lstat(path, &is) != 0)
        return true;
    if (!S_ISSOCK(is.st_mode) && !S_ISLNK(is.st_mode)) {
        snprintf(why, room, "%s is no socket", path);
        return false;
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    error = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    if (fd >= 0)
        close(fd);
    is_dead = error == ECONNREFUSED || error == ENOENT;
    if (is_dead && unlink(path) == 0)
        return true;
    if (error == 0)
        snprintf(why, room, "another monitor reads %s", path);
    else
        snprintf(why, room, "%s cannot be replaced: %s", path, strerror(is_dead ? errno : error));
    return false;
}

int hu_live_socket_open(const char *path, char *why, size_t room)
{
    struct sockaddr_un   address = {.sun_family = AF_UNIX};
    const int            yes = 1, bytes = QUEUE_BYTES;
    const struct timeval most = {.tv_sec = HU_LIVE_WAIT_S};
    int                  fd = -1, lock;

    if (!path[0]) { /* which the kernel takes for any name */
        snprintf(why, room, "--job-socket has no path");
        return -1;
    }
    if (strlen(path) >= sizeof address.sun_path) {
        snprintf(why, room, "%s is longer than a socket's name may be (%zu bytes)", path, sizeof address.sun_path - 1);
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    lock = lock_folder(path);
    if (make_place(path, &address, why, room)) {
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0 ||
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) != 0 ||
            bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 || chmod(path, ALL_MAY_SEND) != 0) {
            snprintf(why, room, "%s cannot be opened: %s", path, strerror(errno));
            if (fd >= 0)
                close(fd);
            fd = -1;
        } else {
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        }
    }
    if (lock >= 0)
        close(lock);
    return fd;
}

long hu_live_socket_read(int fd, unsigned char bytes[HU_LIVE_DATAGRAM_MOST], hu_live_sender *sender)
{
    union {
        struct cmsghdr head;
        char           room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec  part = {bytes, HU_LIVE_DATAGRAM_MOST};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    const ssize_t n = recvmsg(fd, &m, MSG_TRUNC | MSG_CMSG_CLOEXEC);
    struct ucred  who;

    *sender = (hu_live_sender){.uid = -1};
    for (struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL; c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len >= CMSG_LEN(sizeof who)) {
            memcpy(&who, CMSG_DATA(c), sizeof who);
            *sender = (hu_live_sender){.pid = (uint32_t)who.pid, .uid = who.uid};
        }
    return (long)n;
}
