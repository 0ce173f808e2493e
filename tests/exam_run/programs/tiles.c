/* SPDX-License-Identifier: Apache-2.0
 * tiles.c - filters tiles of an image.  The cause: each tile gets fresh memory from mmap, every page of which faults. */
#include "work.h"

#include <sys/mman.h>

enum { TILES = 60, BYTES = 16 << 20 };

__attribute__((noinline)) static uint64_t filter_tile(uint64_t *tile, uint64_t seed)
{
    for (size_t i = 0; i < BYTES / sizeof *tile; i += 512)
        tile[i] = seed ^ i;
    return work_mix(tile[(seed >> 43) / 8 % 512 * 512] ^ seed, 2500000);
}

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    void    *tile = MAP_FAILED;
    uint64_t x = 1;

    for (int i = 0; i < TILES; i++) {
        if (with || tile == MAP_FAILED)
            tile = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        x = filter_tile(tile, x);
        if (with)
            munmap(tile, BYTES);
    }
    printf("%llu\n", (unsigned long long)x);
    work_end();
    return 0;
}
