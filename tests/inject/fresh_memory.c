/* SPDX-License-Identifier: Apache-2.0
 * fresh_memory.c - touches N pages of memory, 1,000 at a time, each time of a fresh mapping. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    enum { PAGES = 1000 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (int n = argc > 1 ? atoi(argv[1]) : 0; n > 0; n -= PAGES) {
        char *at = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (at == MAP_FAILED)
            return 1;
        (void)madvise(at, PAGES * page, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < PAGES; i++)
            at[i * page] = 1;
        if (munmap(at, PAGES * page))
            return 1;
    }
    return 0;
}
