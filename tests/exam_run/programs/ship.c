/* SPDX-License-Identifier: Apache-2.0
 * ship.c - logs to a shipper on a pipe, as `prog | shipper` does.  The cause: the shipper takes 1.5 ms for each 4 KiB. */
#include "work.h"

#include <unistd.h>

enum { LINES = 28000 };

/* The other program: it reads its standard input, and waits for its own server. */
static int shipper(bool is_slow)
{
    static char piece[4096];

    while (read(0, piece, sizeof piece) > 0)
        if (is_slow)
            work_sleep(1500);
    return 0;
}

__attribute__((noinline)) static void log_line(FILE *log, int i, uint64_t x)
{
    fprintf(log, "line %d of the log, with a number: %llu, and nothing else of interest\n", i, (unsigned long long)x);
}

int main(int argc, char **argv)
{
    bool     with;
    FILE    *log;
    uint64_t x = 1;
    char     command[300];

    if (argc > 2)
        return shipper(strcmp(argv[2], "slow") == 0);
    with = work_begin(argc, argv);
    snprintf(command, sizeof command, "exec '%s' ship %s", argv[0], with ? "slow" : "quick");
    log = popen(command, "w");
    for (int i = 0; i < LINES; i++) {
        x = work_mix(x, 6000);
        log_line(log, i, x);
    }
    pclose(log);
    printf("%llu\n", (unsigned long long)x);
    work_end();
    return 0;
}
