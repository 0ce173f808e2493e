/* SPDX-License-Identifier: Apache-2.0
 * measure.c - runs one command and reports its wall time, CPU time and peak resident memory.  Knows nothing of repeats.
 * A child inherits the peak of whoever forked it, so a large interpreter cannot see less than its own; this can.
 *
 * usage: measure FD COMMAND [ARGUMENT...]     one line to FD: wall ns, CPU us, peak KiB, wait status
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Of the command and all that it waited for, in user mode and in the kernel. */
static long long cpu_us(const struct rusage *use)
{
    return (use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000LL + use->ru_utime.tv_usec + use->ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
    struct rusage use;
    long long     begin;
    int           fd, status;
    pid_t         child;

    if (argc < 3)
        return 2;
    fd = atoi(argv[1]);
    begin = now_ns();
    child = fork();
    if (child == 0) {
        close(fd);
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &use) != child)
        return 2;
    dprintf(fd, "%lld %lld %ld %d\n", now_ns() - begin, cpu_us(&use), use.ru_maxrss, status);
    return 0;
}
