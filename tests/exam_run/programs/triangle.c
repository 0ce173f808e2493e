/* SPDX-License-Identifier: Apache-2.0
 * triangle.c - distances of all pairs, with OpenMP.  The cause: schedule(static) over rows that grow. */
#include "work.h"

#include <omp.h>

enum { ROWS = 800 };

static uint64_t row_sums[ROWS];

__attribute__((noinline)) static void pair_distances(int row)
{
    row_sums[row] = work_mix((uint64_t)row + 1, (long)row * row / 2);
}

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    uint64_t sum = 0;

    omp_set_num_threads(2);
    omp_set_schedule(with ? omp_sched_static : omp_sched_dynamic, with ? 0 : 4);
    for (int pass = 0; pass < 6; pass++) {
#pragma omp parallel for schedule(runtime)
        for (int row = 0; row < ROWS; row++)
            pair_distances(row);
    }
    for (int row = 0; row < ROWS; row++)
        sum += row_sums[row];
    printf("%llu\n", (unsigned long long)sum);
    work_end();
    return 0;
}
