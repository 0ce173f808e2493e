/* SPDX-License-Identifier: Apache-2.0
 * calls.c - a known number of calls that wait: 20 sleeps of 5 ms, 40 fdatasyncs of a file, 20 reads of a pipe into which a
 * child writes every 4 ms.  How long they took by its own clock, in ns, it writes into TIMES.
 *
 *   calls FILE TIMES */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void rest(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
    const int file = argc == 3 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    long long begun, reads_ns = 0, sleeps_ns = 0, syncs_ns = 0;
    FILE     *times;
    int       ends[2], got = 0;
    char      byte = 'x';
    pid_t     child;

    if (file < 0 || pipe(ends) != 0 || (child = fork()) < 0)
        return 1;
    if (child == 0) {
        for (int i = 0; i < 20; i++) {
            rest(4000);
            if (write(ends[1], &byte, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    for (int i = 0; i < 20; i++) {
        begun = now_ns();
        got += (int)read(ends[0], &byte, 1);
        reads_ns += now_ns() - begun;
    }
    waitpid(child, NULL, 0);
    for (int i = 0; i < 20; i++) {
        begun = now_ns();
        rest(5000);
        sleeps_ns += now_ns() - begun;
    }
    for (int i = 0; i < 40; i++) {
        got += (int)write(file, "0123456789", 10);
        begun = now_ns();
        got += fdatasync(file);
        syncs_ns += now_ns() - begun;
    }
    if (!(times = fopen(argv[2], "w")))
        return 1;
    fprintf(times, "read %lld nanosleep %lld fdatasync %lld\n", reads_ns, sleeps_ns, syncs_ns);
    fclose(times);
    printf("%d\n", got);
    return 0;
}
