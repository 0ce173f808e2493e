/* SPDX-License-Identifier: Apache-2.0
 * train.c - a training loop with a planted cause, or without it.
 *
 *     train CAUSE STEPS [fixed]      prints "work SECONDS" on stderr: of the steps, by its own clock
 *
 * Lengths are those of small kernels in traces of other people's jobs; what costs time is made large beside them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../runtime.h"
#include "holdup_annotate.h"

enum { BATCH = 24 << 20, MANY = 400, LAYERS = 40 };

static const standin_kernel small = {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
                                     2500, false, 24, 0};
static const standin_kernel various[8] = {
    {"ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn", 3100, false, 98, 16384},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>", 2700, false, 32, 1024},
    {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 7, false, false>", 2400, false, 40, 0},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>, 4>>", 2900, false, 32,
     64},
    {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_nn", 3300, false, 122, 16384},
    {"void at::native::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>", 2200, false, 28, 0},
    {"void cub::DeviceScanKernel<cub::Policy600, float const*, float*>", 2600, false, 56, 2048},
    {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80", 3500, false, 168, 24576},
};
static const standin_kernel layer = {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", 90000, false, 122,
                                     16384};
static const standin_kernel reduce = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 900000,
                                      true, 96, 20240};

static void           *batch_memory, *pinned, *pageable, *loss;
static cudaStream_t    comm;
static cudaEvent_t     computed, reduced;
static cudaGraphExec_t graph;
static int             is_late_rank;

static void launch(const standin_kernel *k, cudaStream_t s)
{
    cudaLaunchKernel(k, (dim3){216, 1, 1}, (dim3){256, 1, 1}, NULL, 0, s);
}

static void sleep_ms(double ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};

    nanosleep(&t, NULL);
}

/* what the host computes */
static void compute_us(int64_t us)
{
    const int64_t until = standin_now() + us * 1000;

    while (standin_now() < until)
        continue;
}

/* more to launch than to compute; mended: one graph */
static void launches(int fixed)
{
    if (fixed)
        cudaGraphLaunch(graph, NULL);
    for (int i = 0; i < MANY && !fixed; i++)
        launch(&various[i % 8], NULL);
}

/* the loss is read after each layer of each step; mended: never */
static void item(int fixed)
{
    for (int i = 0; i < LAYERS; i++) {
        launch(&layer, NULL);
        if (!fixed) {
            cudaMemcpyAsync(loss, batch_memory, 4, cudaMemcpyDeviceToHost, NULL);
            cudaStreamSynchronize(NULL);
        }
        compute_us(30);
    }
}

/* a batch is copied from pageable memory; mended: from pinned */
static void pageable_copy(int fixed)
{
    cudaMemcpyAsync(batch_memory, fixed ? pinned : pageable, BATCH, cudaMemcpyHostToDevice, NULL);
    for (int i = 0; i < LAYERS; i++)
        launch(&layer, NULL);
}

/* the host reads the next batch while the device has nothing to do; mended: it is there */
static void loader(int fixed)
{
    holdup_phase_push(HOLDUP_PHASE_DATA);
    if (!fixed)
        sleep_ms(6);
    holdup_phase_pop();
    for (int i = 0; i < LAYERS; i++)
        launch(&layer, NULL);
    cudaStreamSynchronize(NULL);
}

/* nothing is wrong: a graph fills the device */
static void graphs(int fixed)
{
    (void)fixed;
    for (int i = 0; i < 10; i++)
        cudaGraphLaunch(graph, NULL);
}

/* ranks meet in a reduction, and one of them comes late; mended: it does not */
static void reduce_late(int fixed, int has_optimizer)
{
    if (is_late_rank && !fixed) {
        holdup_phase_push(HOLDUP_PHASE_PREPROCESSING);
        sleep_ms(5);
        holdup_phase_pop();
    }
    for (int i = 0; i < 10; i++)
        launch(&layer, NULL);
    cudaEventRecord(computed, NULL);
    cudaStreamWaitEvent(comm, computed, 0);
    launch(&reduce, comm);
    cudaEventRecord(reduced, comm);
    cudaStreamWaitEvent(NULL, reduced, 0);
    if (has_optimizer)
        launch(&small, NULL);
    cudaStreamSynchronize(NULL);
}

static void late(int fixed)
{
    reduce_late(fixed, 1);
}

/* the last that the stream does is to wait for the reduction */
static void late_end(int fixed)
{
    reduce_late(fixed, 0);
}

/* the caching allocator's cache is emptied each step; mended: memory is kept */
static void allocations(int fixed)
{
    void *memory[4];

    for (int i = 0; i < LAYERS; i++) {
        if (!fixed && i % 10 == 0)
            cudaMalloc(&memory[i / 10], 8 << 20);
        launch(&layer, NULL);
    }
    for (int i = 0; i < 4 && !fixed; i++)
        cudaFree(memory[i]);
}

/* nothing is wrong: the device computes all the time, and the host waits for it once a step */
static void busy(int fixed)
{
    (void)fixed;
    for (int i = 0; i < LAYERS; i++)
        launch(&layer, NULL);
    cudaStreamSynchronize(NULL);
}

static const struct {
    const char *name;
    void (*step)(int fixed);
} causes[] = {{"launches", launches}, {"item", item}, {"pageable", pageable_copy}, {"loader", loader},
              {"graph", graphs},      {"late", late}, {"late-end", late_end},      {"allocations", allocations},
              {"busy", busy}};

int main(int argc, char **argv)
{
    const standin_kernel *all[40];
    const int             steps = argc > 2 ? atoi(argv[2]) : 30, fixed = argc > 3 && strcmp(argv[3], "fixed") == 0;
    const char           *rank = getenv("RANK");
    int64_t               begun = 0;

    for (int i = 0; i < 40; i++)
        all[i] = argc > 1 && strcmp(argv[1], "graph") == 0 && i % 4 == 0 ? &layer : &small;
    is_late_rank = rank && atoi(rank) == 3;
    if (cudaSetDevice(0))
        return 3;
    cudaMalloc(&batch_memory, BATCH);
    cudaHostAlloc(&pinned, BATCH, 0);
    pageable = malloc(BATCH);
    loss = malloc(4);
    cudaStreamCreateWithFlags(&comm, 1);
    cudaEventCreateWithFlags(&computed, 2);
    cudaEventCreateWithFlags(&reduced, 2);
    {
        const standin_kernel *many[200];

        for (int i = 0; i < 200; i++)
            many[i] = &various[i % 8];
        graph = argc > 1 && strcmp(argv[1], "launches") == 0 ? standin_graph_new(many, 200) : standin_graph_new(all, 40);
    }
    for (size_t c = 0; c < sizeof causes / sizeof *causes; c++) {
        if (argc < 2 || strcmp(argv[1], causes[c].name) != 0)
            continue;
        causes[c].step(fixed);
        cudaDeviceSynchronize();
        begun = standin_now();
        for (int i = 0; i < steps; i++) {
            holdup_step_number(i);
            causes[c].step(fixed);
            if (fixed && c == 0)
                cudaGraphLaunch(graph, NULL); /* two graphs of 200 kernels */
        }
        cudaDeviceSynchronize();
        holdup_step_end();
        fprintf(stderr, "work %.6f\n", (double)(standin_now() - begun) / 1e9);
        return 0;
    }
    fprintf(stderr, "train: no such cause\n");
    return 2;
}
