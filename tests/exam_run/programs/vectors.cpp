// SPDX-License-Identifier: Apache-2.0
// vectors.cpp - smooths a signal.  The cause: a std::vector of 40 MB is made anew in each pass, and malloc takes it from mmap.
#include "work.h"

#include <vector>

static const size_t SIZE = 10000000;

__attribute__((noinline)) static float smooth(std::vector<float> &scratch, float last)
{
    for (size_t i = 0; i < SIZE; i++)
        scratch[i] = last + static_cast<float>(i);
    for (size_t i = 1; i < SIZE; i++)
        scratch[i] = 0.5f * (scratch[i] + scratch[i - 1]);
    return scratch[SIZE / 2] * 1e-7f;
}

int main(int argc, char **argv)
{
    bool               with = work_begin(argc, argv);
    std::vector<float> kept(with ? 0 : SIZE);
    float              last = 0;

    for (int pass = 0; pass < 16; pass++) {
        if (!with) {
            last = smooth(kept, last);
            continue;
        }
        std::vector<float> fresh(SIZE);
        last = smooth(fresh, last);
    }
    printf("%g\n", static_cast<double>(last));
    work_end();
    return 0;
}
