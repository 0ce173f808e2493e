/* SPDX-License-Identifier: Apache-2.0
 * catalogue.c - each kind of work once, each with numbers of its own.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "../runtime.h"

static const standin_kernel plain = {"_Z9plain_oneIfEvPT_i", 20000, false, 77, 3072};
static const standin_kernel direct = {"triton_poi_fused_add_7", 15000, false, 40, 0};
static const standin_kernel node[2] = {{"node_first", 4000, false, 31, 0}, {"node_second", 6000, false, 32, 0}};

typedef int launch_fn(const void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *s, void **arguments, void **extra);

int main(void)
{
    const standin_kernel *nodes[2] = {&node[0], &node[1]};
    void                 *memory, *pinned, *pageable = malloc(3 << 20);
    cudaStream_t          side;
    cudaEvent_t           ready;
    launch_fn            *launch; /* of the driver, as Triton does */
    int                   n;

    if (cudaGetDeviceCount(&n) || n != 1)
        return 3;
    cudaMalloc(&memory, 4 << 20);
    cudaHostAlloc(&pinned, 2 << 20, 0);
    cudaStreamCreateWithFlags(&side, 1);
    cudaEventCreateWithFlags(&ready, 2);
    cudaLaunchKernel(&plain, (dim3){101, 102, 3}, (dim3){64, 4, 2}, NULL, 4096, NULL);
    cudaEventRecord(ready, NULL);
    cudaStreamWaitEvent(side, ready, 0);
    cudaMemcpyAsync(memory, pinned, 1234560, cudaMemcpyHostToDevice, side);
    cudaMemcpyAsync(pageable, memory, 765432, cudaMemcpyDeviceToHost, side);
    cudaMemcpyAsync(memory, memory, 555555, cudaMemcpyDeviceToDevice, side);
    cudaMemcpyPeerAsync(memory, 3, memory, 0, 444444, side);
    cudaMemsetAsync(memory, 7, 999424, side);
    cudaEventRecord(ready, side);
    cudaEventSynchronize(ready);
    cudaMemcpy(memory, pageable, 111111, cudaMemcpyHostToDevice);
    cudaGraphLaunch(standin_graph_new(nodes, 2), side);
    cudaStreamSynchronize(side);
    launch = (launch_fn *)(uintptr_t)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel");
    launch(&direct, 9, 1, 1, 256, 1, 1, 512, NULL, NULL, NULL);
    cudaDeviceSynchronize();
    cudaFree(memory);
    return 0;
}
