/* SPDX-License-Identifier: Apache-2.0
 * dropped.c - [root FOLDER] user|hostile COUNT: two workers become nobody behind the C library's back, then sleep COUNT times,
 * each with a child that sleeps once.  A hostile one cuts its own ring and asks for what is not its own. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/protocol/broker.h"

/* A descriptor of what was asked for, or -errno. */
static int ask(int what, const char *name, char *given)
{
    union {
        char           bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    hu_broker_packet   p = {.version = HU_BROKER_VERSION, .what = (uint32_t)what};
    struct iovec       part = {&p, sizeof p};
    struct msghdr      m = {
             .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    int       got = -EACCES;

    hu_broker_address(getenv("HOLDUP_SESSION"), address.sun_path + 1);
    snprintf(p.name, sizeof p.name, "%s", name);
    if (connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1))) == 0 &&
        send(fd, &p, sizeof p, MSG_NOSIGNAL) == (ssize_t)sizeof p && recvmsg(fd, &m, 0) == (ssize_t)sizeof p) {
        got = p.rc;
        if (got == 0)
            memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof got);
        if (given)
            memcpy(given, p.name, sizeof p.name);
    }
    close(fd);
    return got;
}

static void attack(void)
{
    char      name[HU_BROKER_NAME_BYTES] = "", other[64];
    const int ring = ask(HU_BROKER_MAKE, "", name), control = ask(HU_BROKER_CONTROL, "", NULL);

    printf("made %d, cut %d\n", ring >= 0, ftruncate(ring, 0));
    printf("control %d, written %d\n", control >= 0, write(control, "x", 1) == 1);
    snprintf(other, sizeof other, "%d-0123456789abcdef.ring", (int)getppid());
    printf("grow %d %d %d %d\n", ask(HU_BROKER_GROW, name, NULL) >= 0, ask(HU_BROKER_GROW, other, NULL),
           ask(HU_BROKER_GROW, "control", NULL), ask(HU_BROKER_READ, "../../etc/passwd", NULL));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *root = argc > 4 ? argv[2] : NULL, *what = argv[argc - 2];
    const int   count = argc > 2 ? (int)strtol(argv[argc - 1], NULL, 10) : 0;

    if (argc < 3)
        return 2;
    for (int i = 0; i < 2; i++) {
        if (fork() != 0)
            continue;
        if (root && (chroot(root) != 0 || chdir("/") != 0))
            _exit(3);
        if (syscall(SYS_setgid, 65534) != 0 || syscall(SYS_setuid, 65534) != 0)
            _exit(4);
        if (strcmp(what, "hostile") == 0 && i == 0)
            attack();
        for (int n = 0; n < count; n++)
            usleep(20);
        if (fork() == 0) {
            usleep(20);
            _exit(0);
        }
        while (wait(NULL) > 0 || errno == EINTR)
            ;
        _exit(0);
    }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    return 0;
}
