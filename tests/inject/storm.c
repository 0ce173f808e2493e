/* SPDX-License-Identifier: Apache-2.0
 * storm.c - processes that give up their CPU as often as they can: storm PROCESSES SECONDS; prints how often all of them did. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    const int    n = argc > 1 ? atoi(argv[1]) : 3;
    const double until = now() + (argc > 2 ? atof(argv[2]) : 1);

    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            while (now() < until)
                for (int k = 0; k < 100; k++)
                    sched_yield();
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    return 0;
}
