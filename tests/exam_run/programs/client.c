/* SPDX-License-Identifier: Apache-2.0
 * client.c - looks names up at a server on 127.0.0.1, which takes 3 ms.  The cause: one connection and one round trip for each
 * name, where the server takes all names at once. */
#include "work.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAMES = 160, NAME = 16 };

static void serve(int door)
{
    static char names[NAMES * NAME];

    for (;;) {
        int     connection = accept(door, NULL, NULL);
        ssize_t n = read(connection, names, sizeof names);

        work_sleep(3000);
        if (n > 0 && write(connection, names, (size_t)n) < 0)
            perror("server");
        close(connection);
    }
}

__attribute__((noinline)) static ssize_t look_up(const struct sockaddr_in *server, const char *names, size_t n)
{
    static char answer[NAMES * NAME];
    int         connection = socket(AF_INET, SOCK_STREAM, 0);
    ssize_t     got = 0;

    if (connect(connection, (const struct sockaddr *)server, sizeof *server) < 0 || send(connection, names, n, 0) < 0)
        perror("client");
    else
        got = recv(connection, answer, sizeof answer, MSG_WAITALL);
    close(connection);
    return got;
}

int main(int argc, char **argv)
{
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t          n = sizeof server;
    int                door = socket(AF_INET, SOCK_STREAM, 0);
    char               names[NAMES][NAME] = {{0}};
    ssize_t            got = 0;
    uint64_t           x = 1;
    bool               with;
    pid_t              child;

    if (bind(door, (struct sockaddr *)&server, n) < 0 || listen(door, 16) < 0 ||
        getsockname(door, (struct sockaddr *)&server, &n) < 0)
        return 1;
    child = fork();
    if (child == 0)
        serve(door);
    with = work_begin(argc, argv);
    for (int i = 0; i < NAMES; i++) {
        x = work_mix(x, 1000000);
        snprintf(names[i], NAME, "host%d", i);
        if (with)
            got += look_up(&server, names[i], NAME);
    }
    if (!with)
        got = look_up(&server, names[0], sizeof names);
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    printf("%zd %d\n", got, x != 0);
    work_end();
    return 0;
}
