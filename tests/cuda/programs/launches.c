/* SPDX-License-Identifier: Apache-2.0
 * launches.c - many launches and nothing else: prints ns for each, of the calling thread's time and of the whole process's CPU time.
 *
 *     launches COUNT ROUNDS      the device needs no time; set STANDIN_LAUNCH=0 STANDIN_LATENCY=0 STANDIN_GAP=0
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../runtime.h"

static const standin_kernel kernel = {"launched_kernel", 0, false, 18, 0};

static double cpu_ns(int who)
{
    struct rusage u;

    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 100000, rounds = argc > 2 ? atoi(argv[2]) : 5;
    int       devices;

    if (cudaGetDeviceCount(&devices))
        return 3;
    for (int r = 0; r <= rounds; r++) {
        const double cpu = cpu_ns(RUSAGE_SELF), own = cpu_ns(RUSAGE_THREAD);

        for (int i = 0; i < count; i++)
            cudaLaunchKernel(&kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL);
        cudaDeviceSynchronize();
        if (r) /* the first warms up */
            printf("launch %.1f process %.1f\n", (cpu_ns(RUSAGE_THREAD) - own) / count, (cpu_ns(RUSAGE_SELF) - cpu) / count);
    }
    return 0;
}
