/* SPDX-License-Identifier: Apache-2.0
 * burn.c - takes a CPU until it is killed, for 20 s at most. */
#include <unistd.h>

int main(void)
{
    volatile unsigned long x = 1;

    alarm(20);
    for (;;)
        x = x * 3 + 1;
}
