/* SPDX-License-Identifier: Apache-2.0
 * parts.c - computes in two functions, 70 : 30, for argv[1] turns. */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned sink;

static inline unsigned turn(unsigned x, int n)
{
    for (int i = 0; i < n; i++)
        x = x * 1664525u + 1013904223u;
    return x;
}

__attribute__((noinline)) static unsigned grind(unsigned x)
{
    return turn(x, 7000);
}

__attribute__((noinline)) static unsigned polish(unsigned x)
{
    return turn(x, 3000);
}

int main(int argc, char **argv)
{
    for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--)
        sink = polish(grind(sink));
    return 0;
}
