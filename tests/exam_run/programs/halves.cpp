// SPDX-License-Identifier: Apache-2.0
// halves.cpp - two threads share a matrix.  The cause: one has 85 % of the rows.
#include "work.h"

#include <thread>

static const int ROWS = 800;
static uint64_t  sums[2];

__attribute__((noinline)) static uint64_t reduce_rows(int from, int to)
{
    uint64_t sum = 0;

    for (int row = from; row < to; row++)
        sum += work_mix(static_cast<uint64_t>(row) + 1, 700000);
    return sum;
}

int main(int argc, char **argv)
{
    int         cut = work_begin(argc, argv) ? ROWS * 85 / 100 : ROWS / 2;
    std::thread first([cut] { sums[0] = reduce_rows(0, cut); });
    std::thread second([cut] { sums[1] = reduce_rows(cut, ROWS); });

    first.join();
    second.join();
    printf("%llu\n", static_cast<unsigned long long>(sums[0] + sums[1]));
    work_end();
    return 0;
}
