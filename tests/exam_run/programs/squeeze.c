/* SPDX-License-Identifier: Apache-2.0
 * squeeze.c - makes a table and packs it.  The cause: gzip, started with system(). */
#include "work.h"

enum { LINES = 220000 };

__attribute__((noinline)) static uint64_t make_table(FILE *f)
{
    uint64_t x = 1;

    for (int i = 0; i < LINES; i++) {
        x = work_mix(x, 700);
        fprintf(f, "%d %llu\n", i, (unsigned long long)(x >> 50));
    }
    return x;
}

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    FILE    *f = fopen("table.txt", "w");
    uint64_t x = make_table(f);

    fclose(f);
    if (with && system("gzip -9 -c table.txt >table.txt.gz") != 0)
        perror("gzip");
    printf("%llu\n", (unsigned long long)x);
    work_end();
    return 0;
}
