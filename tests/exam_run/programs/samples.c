/* SPDX-License-Identifier: Apache-2.0
 * samples.c - exports measurements as CSV.  The cause: each line is a write(2) of its own. */
#include "work.h"

#include <fcntl.h>
#include <unistd.h>

enum { LINES = 600000, ROOM = 1 << 16 };

static char buffer[ROOM];

__attribute__((noinline)) static void export_line(int fd, const char *line, size_t n)
{
    if (write(fd, line, n) < 0)
        perror("samples.csv");
}

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    int      fd = open("samples.csv", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    size_t   held = 0;
    uint64_t x = 1;

    for (int i = 0; i < LINES; i++) {
        char line[64];
        int  n;

        x = work_mix(x, 60);
        n = snprintf(line, sizeof line, "%d,%llu\n", i, (unsigned long long)(x >> 44));
        if (with) {
            export_line(fd, line, (size_t)n);
            continue;
        }
        if (held + (size_t)n > sizeof buffer) {
            export_line(fd, buffer, held);
            held = 0;
        }
        memcpy(buffer + held, line, (size_t)n);
        held += (size_t)n;
    }
    export_line(fd, buffer, held);
    close(fd);
    printf("%llu\n", (unsigned long long)x);
    work_end();
    return 0;
}
