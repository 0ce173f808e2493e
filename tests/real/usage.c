/* SPDX-License-Identifier: Apache-2.0
 * usage.c - runs a command and writes what the kernel says of it: user and system time in us, voluntary and involuntary
 * context switches, wall time in us.  Ends as the command does.
 *
 *   usage FILE COMMAND... */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
    const long long begun = now_us();
    struct rusage   u;
    int             status = 0;
    FILE           *out;
    pid_t           child;

    if (argc < 3 || (child = fork()) < 0)
        return 125;
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    waitpid(child, &status, 0);
    getrusage(RUSAGE_CHILDREN, &u);
    if (!(out = fopen(argv[1], "w")))
        return 125;
    fprintf(out, "%lld %lld %ld %ld %lld\n", u.ru_utime.tv_sec * 1000000LL + u.ru_utime.tv_usec,
            u.ru_stime.tv_sec * 1000000LL + u.ru_stime.tv_usec, u.ru_nvcsw, u.ru_nivcsw, now_us() - begun);
    fclose(out);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
