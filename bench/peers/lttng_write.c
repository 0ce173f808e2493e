/* SPDX-License-Identifier: Apache-2.0
 * lttng_write.c - ns of one write between two tracepoints, as `osrt loop` without them.  lttng_write ROUNDS */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_write.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    enum { CALLS = 1000 };
    const long rounds = argc > 1 ? atol(argv[1]) : 100;
    const int  fd = open("/dev/null", O_WRONLY);
    double    *each = calloc((size_t)rounds, sizeof *each);

    for (long r = 0; r < rounds; r++) {
        const double start = ns();

        for (int i = 0; i < CALLS; i++) {
            lttng_ust_tracepoint(holdup_bench, before, fd);
            if (write(fd, "x", 1) != 1)
                return 1;
            lttng_ust_tracepoint(holdup_bench, after, 1);
        }
        each[r] = (ns() - start) / CALLS;
    }
    qsort(each, (size_t)rounds, sizeof *each, by_size);
    printf("%.2f\n", each[rounds / 2]);
    return 0;
}
