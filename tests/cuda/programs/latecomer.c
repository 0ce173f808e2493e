/* SPDX-License-Identifier: Apache-2.0
 * latecomer.c - a job a part of which asks for CUPTI's first interface while it runs, as torch.profiler does.
 *
 *     latecomer early                          registers buffers before CUDA is initialised, enables a kind later
 *     latecomer subscribe|register|enable      launches 20 kernels, makes this call first and then the others, launches 10 more;
 *                                              says what the calls returned and how many kernels came to it; its status is 7
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runtime.h"

enum { KERNEL = 10, BYTES = 1 << 20 };

static standin_kernel before = {"before_kernel", 30000, false, 18, 0}, after = {"after_kernel", 30000, false, 18, 0};
static int            mine;

/* the first of each name in the process, as for a library that is linked to CUPTI */
static int (*subscribe)(void **, void *, void *);
static int (*register_callbacks)(void *, void *);
static int (*enable)(int);
static int (*next_record)(uint8_t *, size_t, uint8_t **);
static int (*flush_all)(uint32_t);

static void request(uint8_t **buffer, size_t *bytes, size_t *most)
{
    *buffer = aligned_alloc(16, BYTES);
    *bytes = BYTES;
    *most = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    uint8_t *record = NULL;

    (void)context;
    (void)stream;
    (void)bytes;
    while (valid && next_record(buffer, valid, &record) == 0)
        mine += *(uint32_t *)(void *)record == KERNEL;
    free(buffer);
}

static void call_back(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

static void launch(standin_kernel *k, int n)
{
    for (int i = 0; i < n; i++)
        cudaLaunchKernel(k, (dim3){4, 1, 1}, (dim3){32, 1, 1}, NULL, 0, NULL);
    cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "subscribe";
    void       *library, *subscriber = NULL;
    bool        is_early;
    int         devices = 0, subscribed = -1, registered = -1, enabled = -1;

    is_early = strcmp(first, "early") == 0;
    if (is_early)
        dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    else if (cudaGetDeviceCount(&devices) || devices == 0)
        return 8;
    if (!is_early)
        launch(&before, 20);
    library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return 9;
    *(void **)&subscribe = dlsym(RTLD_DEFAULT, "cuptiSubscribe");
    *(void **)&register_callbacks = dlsym(RTLD_DEFAULT, "cuptiActivityRegisterCallbacks");
    *(void **)&enable = dlsym(RTLD_DEFAULT, "cuptiActivityEnable");
    *(void **)&next_record = dlsym(library, "cuptiActivityGetNextRecord");
    *(void **)&flush_all = dlsym(library, "cuptiActivityFlushAll");
    if (strcmp(first, "subscribe") == 0)
        subscribed = subscribe(&subscriber, (void *)(uintptr_t)call_back, NULL);
    if (strcmp(first, "enable") != 0)
        registered = register_callbacks((void *)(uintptr_t)request, (void *)(uintptr_t)complete);
    if (is_early && cudaGetDeviceCount(&devices))
        return 8;
    if (is_early)
        launch(&before, 20);
    enabled = enable(KERNEL);
    if (registered < 0)
        registered = register_callbacks((void *)(uintptr_t)request, (void *)(uintptr_t)complete);
    launch(&after, 10);
    flush_all(1);
    printf("%d %d %d: %d\n", subscribed, registered, enabled, mine);
    return 7;
}
