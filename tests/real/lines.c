/* SPDX-License-Identifier: Apache-2.0
 * lines.c - computes, and writes 250,000 lines.
 *
 *   lines FILE each|buffered    a call for each line, or for 64 KiB */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINES = 250000, ROOM = 65536, LONGEST = 16 };

int main(int argc, char **argv)
{
    static char buffer[ROOM];
    const int   file = argc == 3 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    const int   is_each = argc == 3 && strcmp(argv[2], "each") == 0;
    uint64_t    x = 1;
    size_t      used = 0;
    long        written = 0;

    if (file < 0)
        return 2;
    for (int i = 0; i < LINES; i++) {
        for (int k = 0; k < 250; k++) {
            x ^= x >> 29;
            x *= UINT64_C(0xbf58476d1ce4e5b9);
        }
        used += (size_t)snprintf(buffer + used, LONGEST, "%d\n", (int)(x & 0xffff));
        if (is_each || used > ROOM - LONGEST) {
            written += write(file, buffer, used);
            used = 0;
        }
    }
    written += write(file, buffer, used);
    printf("%ld\n", written);
    return 0;
}
