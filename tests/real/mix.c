/* SPDX-License-Identifier: Apache-2.0
 * mix.c - three functions that take about 60, 30 and 10 % of half a second. */
#include <stdint.h>
#include <stdio.h>

static uint64_t mix(uint64_t x, long rounds)
{
    for (long i = 0; i < rounds; i++) {
        x ^= x >> 29;
        x *= UINT64_C(0xbf58476d1ce4e5b9);
    }
    return x;
}

__attribute__((noinline)) uint64_t pack_rows(uint64_t x)
{
    return mix(x, 6000000) + 1;
}

__attribute__((noinline)) uint64_t sort_rows(uint64_t x)
{
    return mix(x, 3000000) + 2;
}

__attribute__((noinline)) uint64_t send_rows(uint64_t x)
{
    return mix(x, 1000000) + 3;
}

int main(void)
{
    uint64_t x = 1;

    for (int i = 0; i < 40; i++)
        x = send_rows(sort_rows(pack_rows(x)));
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
