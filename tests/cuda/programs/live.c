/* SPDX-License-Identifier: Apache-2.0
 * live.c - steps that wait for the device three times each, in the forward pass: says how long, in ns. */
#include <stdio.h>
#include <time.h>

#include "../runtime.h"
#include "holdup_annotate.h"

static standin_kernel kernel = {"work", 3000000, false, 18, 0};

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(void)
{
    long long   waited = 0;
    cudaEvent_t done;

    cudaLaunchKernel(&kernel, (dim3){4, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL);
    cudaEventCreateWithFlags(&done, 0);
    for (int i = 0; i < 20; i++) {
        holdup_step();
        holdup_phase_push(HOLDUP_PHASE_FORWARD);
        for (int way = 0; way < 3; way++) {
            long long began;

            cudaLaunchKernel(&kernel, (dim3){4, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL);
            cudaEventRecord(done, NULL);
            began = now();
            if (way == 0)
                cudaDeviceSynchronize();
            else if (way == 1)
                cudaStreamSynchronize(NULL);
            else
                cudaEventSynchronize(done);
            waited += now() - began;
        }
        holdup_phase_pop();
    }
    holdup_step_end();
    printf("%lld\n", waited);
    return 0;
}
