/* SPDX-License-Identifier: Apache-2.0
 * calls.c - makes N calls of the C library, one byte each: half of them read, half of them write. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const long n = argc > 1 ? atol(argv[1]) : 1000000;
    const int  zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    char       byte;

    for (long i = 0; i < n / 2; i++)
        if (read(zero, &byte, 1) != 1 || write(null, &byte, 1) != 1)
            return 1;
    return 0;
}
