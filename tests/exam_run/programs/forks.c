/* SPDX-License-Identifier: Apache-2.0
 * forks.c - two children share files to convert.  The cause: one has four times the work of the other. */
#include "work.h"

#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static uint64_t convert(int files)
{
    uint64_t x = 1;

    for (int i = 0; i < files; i++)
        x = work_mix(x, 10000000);
    return x;
}

int main(int argc, char **argv)
{
    int first = work_begin(argc, argv) ? 40 : 25;
    int shares[2] = {first, 50 - first}, status, sum = 0;

    for (int i = 0; i < 2; i++)
        if (fork() == 0)
            _exit((int)(convert(shares[i]) & 1));
    while (wait(&status) > 0)
        sum += WIFEXITED(status);
    printf("%d\n", sum);
    work_end();
    return 0;
}
