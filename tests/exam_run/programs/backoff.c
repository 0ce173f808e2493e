/* SPDX-License-Identifier: Apache-2.0
 * backoff.c - linked statically: nothing of the C library can be seen from inside.  The cause: it sleeps between requests. */
#include "work.h"

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    uint64_t x = 1;

    for (int i = 0; i < 20; i++) {
        x = work_mix(x, 9000000);
        if (with)
            work_sleep(20000);
    }
    printf("%d\n", x != 0);
    work_end();
    return 0;
}
