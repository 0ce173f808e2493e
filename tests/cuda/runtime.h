/* SPDX-License-Identifier: Apache-2.0
 * runtime.h - the calls of the stand-in libcudart (runtime.c), as far as the programs of tests/cuda/programs need them.
 */
#ifndef STANDIN_RUNTIME_H
#define STANDIN_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "device.h"

typedef struct {
    unsigned x, y, z;
} dim3;

typedef void                 *cudaStream_t; /* a small number */
typedef void                 *cudaEvent_t;
typedef struct standin_graph *cudaGraphExec_t;

enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };

#pragma GCC visibility push(default)
int                    cudaGetDeviceCount(int *count);
int                    cudaSetDevice(int device);
int                    cudaMalloc(void **memory, size_t bytes);
int                    cudaFree(void *memory);
int                    cudaHostAlloc(void **memory, size_t bytes, unsigned flags);
int                    cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int                    cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t s);
int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t s);
int cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t s);
int cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
int cudaStreamSynchronize(cudaStream_t s);
int cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags);
int cudaDeviceSynchronize(void);
int cudaDeviceReset(void);
int cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags);
int cudaEventRecord(cudaEvent_t e, cudaStream_t s);
int cudaEventSynchronize(cudaEvent_t e);
int cudaEventQuery(cudaEvent_t e);
int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t s);
int cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t s);
int cudaProfilerStart(void);
int cudaProfilerStop(void);

/* Stands for capture and instantiation: a graph of these kernels. */
cudaGraphExec_t        standin_graph_new(const standin_kernel *const *kernels, int count);
#pragma GCC visibility pop

#endif
