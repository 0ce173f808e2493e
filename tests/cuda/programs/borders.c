/* SPDX-License-Identifier: Apache-2.0
 * borders.c - steps without a wait between them: at each border launches follow each other, and work of the step before is in flight.
 *
 *     borders STEPS
 */
#include <stdlib.h>

#include "../runtime.h"
#include "holdup_annotate.h"

int main(int argc, char **argv)
{
    static const standin_kernel kernel = {"at_the_border", 300000, false, 18, 0};

    if (argc < 2 || cudaSetDevice(0))
        return 3;
    for (int step = 0; step < atoi(argv[1]); step++) {
        holdup_step_number(step);
        for (int i = 0; i < 8; i++)
            cudaLaunchKernel(&kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL);
    }
    holdup_step_end();
    cudaDeviceSynchronize();
    return 0;
}
