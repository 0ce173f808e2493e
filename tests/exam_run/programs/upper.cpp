// SPDX-License-Identifier: Apache-2.0
// upper.cpp - puts lines into capitals.  The cause: strlen in the condition of the loop, once for each letter.
#include "work.h"

#include <vector>

static const int LETTERS = 12000;

__attribute__((noinline)) static void capitals(char *line, bool each)
{
    size_t n = strlen(line);

    for (size_t i = 0; i < (each ? strlen(line) : n); i++)
        if (line[i] >= 'a' && line[i] <= 'z')
            line[i] = static_cast<char>(line[i] - 32);
}

int main(int argc, char **argv)
{
    bool              with = work_begin(argc, argv);
    std::vector<char> line(LETTERS + 1);
    uint64_t          x = 1;

    for (int i = 0; i < 450; i++) {
        x = work_mix(x, 400000);
        for (int k = 0; k < LETTERS; k++)
            line[static_cast<size_t>(k)] = static_cast<char>('a' + (x >> (k % 40)) % 26);
        line[LETTERS] = 0;
        capitals(line.data(), with);
        x += static_cast<uint64_t>(line[17]);
    }
    printf("%llu\n", static_cast<unsigned long long>(x));
    work_end();
    return 0;
}
