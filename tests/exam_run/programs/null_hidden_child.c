/* SPDX-License-Identifier: Apache-2.0
 * null_hidden_child.c - computes in main.  Not a cause: a child that computes beside it, for half as long. */
#include "work.h"

#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static uint64_t encode(uint64_t x)
{
    return work_mix(x, 3000000);
}

__attribute__((noinline)) static uint64_t index_part(uint64_t x)
{
    return work_mix(x + 4, 3000000);
}

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    uint64_t x = 1;

    if (with && fork() == 0)
        _exit((int)(work_mix(7, 120000000) & 1));
    for (int i = 0; i < 70; i++)
        x = index_part(encode(x));
    while (with && wait(NULL) > 0)
        ;
    printf("%llu\n", (unsigned long long)x);
    work_end();
    return 0;
}
