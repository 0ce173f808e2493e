/* SPDX-License-Identifier: Apache-2.0
 * blend.c - lays pictures over each other; linked statically.  The cause: one function. */
#include "work.h"

__attribute__((noinline)) static uint64_t blend_layers(uint64_t x)
{
    return work_mix(x, 1200000);
}

__attribute__((noinline)) static uint64_t read_layer(uint64_t x)
{
    return work_mix(x + 3, 600000);
}

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    uint64_t x = 1;

    for (int i = 0; i < 280; i++) {
        x = read_layer(x);
        if (with)
            x ^= blend_layers(x) & 1;
    }
    printf("%d\n", x != 0);
    work_end();
    return 0;
}
