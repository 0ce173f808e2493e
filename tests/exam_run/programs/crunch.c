/* SPDX-License-Identifier: Apache-2.0
 * crunch.c - computes; what holds it up are others on the same CPUs.  With the word "neighbour" it is one of them. */
#include "work.h"

__attribute__((noinline)) static uint64_t solve(uint64_t x)
{
    return work_mix(x, 5000000);
}

int main(int argc, char **argv)
{
    uint64_t x = 1;

    work_begin(argc, argv);
    for (int i = 0; i < 40 || (argc > 1 && strcmp(argv[1], "neighbour") == 0); i++)
        x = solve(x);
    printf("%llu\n", (unsigned long long)x);
    work_end();
    return 0;
}
