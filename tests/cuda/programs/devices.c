/* SPDX-License-Identifier: Apache-2.0
 * devices.c - kernels on one device, until a library that plays NVML was asked often enough.
 *
 *     devices DEVICE ASKED LOOKS      ASKED: the file in which it says how often it was asked so far
 */
#include <stdio.h>
#include <stdlib.h>

#include "../runtime.h"

static int looks(const char *path)
{
    FILE *f = fopen(path, "r");
    int   n = 0;

    if (f) {
        if (fscanf(f, "%d", &n) != 1)
            n = 0;
        fclose(f);
    }
    return n;
}

int main(int argc, char **argv)
{
    static const standin_kernel kernel = {"on_one_device", 200000, false, 18, 0};
    const int                   device = argc > 3 ? atoi(argv[1]) : 0, first = argc > 3 ? looks(argv[2]) : 0;

    if (argc < 4 || cudaSetDevice(device))
        return 3;
    do {
        for (int i = 0; i < 20; i++)
            cudaLaunchKernel(&kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL);
        cudaDeviceSynchronize();
    } while (looks(argv[2]) < first + atoi(argv[3]));
    return 0;
}
