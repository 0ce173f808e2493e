/* SPDX-License-Identifier: Apache-2.0
 * checksum.c - packs blocks and seals each.  The cause: one function takes most of the time; no call is ever waited for. */
#include "work.h"

enum { BLOCKS = 300 };

__attribute__((noinline)) static uint64_t seal_block(uint64_t x)
{
    return work_mix(x, 1100000);
}

__attribute__((noinline)) static uint64_t pack_block(uint64_t x)
{
    return work_mix(x + 1, 500000);
}

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    uint64_t x = 1;

    for (int i = 0; i < BLOCKS; i++) {
        x = pack_block(x);
        if (with)
            x ^= seal_block(x) & 1;
    }
    printf("%d\n", x != 0);
    work_end();
    return 0;
}
