/* SPDX-License-Identifier: Apache-2.0
 * runtime.c - a stand-in for libcudart: the first call opens libcuda.so.1 and initializes it, each call is told to the profiler.
 *
 * What calls and copies cost are the medians of 51 traces of other people's jobs (MEASURED in tests/rule_traces.py).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGEABLE = 1, PINNED = 2, ON_DEVICE = 3, ALLOCATIONS = 4096, GRAPH_KERNELS = 256 };
enum {
    MALLOC_NS = 250000,
    FREE_NS = 1016000,
    COPY_CALL_NS = 13500,
    PINNED_CALL_NS = 8200,
    CALL_NS = 1000,
    LOAD_NS = 400000
};

struct standin_graph {
    uint32_t              id;
    int                   count;
    const standin_kernel *kernels[GRAPH_KERNELS];
};

typedef struct {
    const char *name;
    uint32_t    cbid, correlation;
    int64_t     start;
} call;

static struct {
    uintptr_t at;
    size_t    bytes;
    int       kind;
} allocations[ALLOCATIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool            loaded;
static int             state = -1; /* -1: no call yet, else an error of CUDA */

static void initialize(void)
{
    int (*init)(unsigned);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

    if (!driver) {
        state = 35; /* the driver is too old for this runtime, as it says where there is none */
        return;
    }
    init = (int (*)(unsigned))(uintptr_t)dlsym(driver, "cuInit");
    state = init(0);
}

static int ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, initialize);
    return state;
}

static call begin(const char *name, uint32_t cbid, const char *kernel)
{
    call c = {name, cbid, 0, standin_now()};

    if (standin_profiler_now())
        c.correlation = standin_profiler_now()->call_begins(CB_RUNTIME, cbid, name, kernel);
    return c;
}

static int end(const call *c, int64_t at_least, int result)
{
    if (at_least)
        standin_sleep_until(c->start + at_least);
    if (standin_profiler_now())
        standin_profiler_now()->call_ends(CB_RUNTIME, c->cbid, c->name, c->correlation, c->start, (uint32_t)result);
    return result;
}

static void took(standin_op *op, const call *c)
{
    op->correlation = c->correlation;
    op->context = 1;
    op->thread = (uint32_t)syscall(SYS_gettid);
    if (standin_profiler_now())
        standin_profiler_now()->took(op);
}

static void took_wait(const call *c, uint32_t type, uint32_t stream, uint32_t event)
{
    const uint64_t id = event == UINT32_MAX ? 0 : standin_event_sync_id((int)event);
    standin_op     op = {.kind = OP_SYNC,
                         .sync_type = type,
                         .stream = stream,
                         .event = event,
                         .sync_id = id,
                         .start = c->start + 500,
                         .end = standin_now()};

    took(&op, c);
}

static int kind_of(const void *p)
{
    int kind = PAGEABLE;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < ALLOCATIONS; i++)
        if ((uintptr_t)p - allocations[i].at < allocations[i].bytes)
            kind = allocations[i].kind;
    pthread_mutex_unlock(&lock);
    return kind;
}

static size_t keep(uintptr_t at, size_t bytes, int kind)
{
    size_t was = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < ALLOCATIONS; i++) {
        if (bytes ? allocations[i].bytes : allocations[i].at != at)
            continue;
        was = allocations[i].bytes;
        allocations[i].at = bytes ? at : 0;
        allocations[i].bytes = bytes;
        allocations[i].kind = kind;
        break;
    }
    pthread_mutex_unlock(&lock);
    return was;
}

int cudaGetDeviceCount(int *count)
{
    const int code = ready();

    *count = code ? 0 : standin_devices();
    return code;
}

int cudaSetDevice(int device)
{
    const int code = ready();
    call      c;

    if (code)
        return code;
    c = begin("cudaSetDevice", 16, NULL);
    return end(&c, 0, standin_device_set(device));
}

int cudaMalloc(void **memory, size_t bytes)
{
    static _Atomic uintptr_t next = 0x7f0000000000;
    const int                code = ready();
    standin_op               op = {.kind = OP_MEMORY, .memory_op = 1, .memory_kind = ON_DEVICE, .bytes = bytes};
    call                     c;

    if (code)
        return code;
    c = begin("cudaMalloc", 20, NULL);
    op.address = next;
    next += (bytes + 511) / 512 * 512;
    *memory = (void *)(uintptr_t)op.address;
    keep(op.address, bytes, ON_DEVICE);
    standin_sleep_until(c.start + MALLOC_NS);
    op.start = standin_now();
    took(&op, &c);
    return end(&c, 0, 0);
}

int cudaFree(void *memory)
{
    const int  code = ready();
    standin_op op = {.kind = OP_MEMORY, .memory_op = 2, .memory_kind = ON_DEVICE, .address = (uintptr_t)memory};
    call       c;

    if (code)
        return code;
    c = begin("cudaFree", 22, NULL);
    op.bytes = keep((uintptr_t)memory, 0, 0);
    for (int s = 0; s < standin_streams(); s++)
        standin_drain(s);
    standin_sleep_until(c.start + FREE_NS);
    op.start = standin_now();
    took(&op, &c);
    return end(&c, 0, 0);
}

int cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    const int code = ready();
    call      c;

    (void)flags;
    if (code)
        return code;
    c = begin("cudaHostAlloc", 27, NULL);
    *memory = malloc(bytes);
    keep((uintptr_t)*memory, bytes, PINNED);
    return end(&c, MALLOC_NS, *memory ? 0 : 2);
}

/* ns, at 22 GB/s from pinned memory, 6 GB/s from pageable, 1 TB/s on the device */
static int64_t copy_length(size_t bytes, int from, int to)
{
    const double per_ns = from == PAGEABLE || to == PAGEABLE ? 6 : from == ON_DEVICE && to == ON_DEVICE ? 1000 : 22;

    return 1200 + (int64_t)((double)bytes / per_ns);
}

static int copy(const char *name, uint32_t cbid, void *to, const void *from, size_t bytes, int kind, int s, bool is_async)
{
    const int  code = ready();
    standin_op op = {.kind = OP_COPY,
                     .bytes = bytes,
                     .flags = is_async,
                     .copy_kind = kind == cudaMemcpyDeviceToDevice ? 8 : (uint8_t)kind};
    int64_t    length;
    call       c;

    if (code)
        return code;
    op.from_kind = (uint8_t)(kind == cudaMemcpyHostToDevice ? kind_of(from) : ON_DEVICE);
    op.to_kind = (uint8_t)(kind == cudaMemcpyDeviceToHost ? kind_of(to) : ON_DEVICE);
    length = copy_length(bytes, op.from_kind, op.to_kind);
    c = begin(name, cbid, NULL);
    op.correlation = c.correlation;
    standin_add(s, &op, length, false);
    if (!is_async || op.to_kind == PAGEABLE)
        standin_drain(s);
    else if (op.from_kind == PAGEABLE) /* it is copied aside first */
        standin_sleep_until(c.start + length);
    return end(&c, op.from_kind == PINNED || op.to_kind == PINNED ? PINNED_CALL_NS : COPY_CALL_NS, 0);
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    return copy("cudaMemcpy", 31, to, from, bytes, kind, 0, false);
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t s)
{
    return copy("cudaMemcpyAsync", 41, to, from, bytes, kind, (int)(intptr_t)s, true);
}

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t s)
{
    const int  code = ready();
    standin_op op = {.kind = OP_PEER,
                     .bytes = bytes,
                     .flags = 1,
                     .copy_kind = 10,
                     .from_kind = ON_DEVICE,
                     .to_kind = ON_DEVICE,
                     .peer = (uint32_t)to_device};
    call       c;

    (void)to;
    (void)from;
    (void)from_device;
    if (code)
        return code;
    c = begin("cudaMemcpyPeerAsync", 161, NULL);
    op.correlation = c.correlation;
    standin_add((int)(intptr_t)s, &op, 2000 + (int64_t)(bytes / 200), false);
    return end(&c, PINNED_CALL_NS, 0);
}

int cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t s)
{
    const int  code = ready();
    standin_op op = {.kind = OP_SET, .bytes = bytes, .value = (uint32_t)value, .to_kind = ON_DEVICE, .flags = 1};
    call       c;

    (void)memory;
    if (code)
        return code;
    c = begin("cudaMemsetAsync", 51, NULL);
    op.correlation = c.correlation;
    standin_add((int)(intptr_t)s, &op, 1000 + (int64_t)(bytes / 1000), false);
    return end(&c, 0, 0);
}

int cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    const int  code = ready();
    standin_op op = {.kind = OP_STREAM, .flags = (uint8_t)flags};
    call       c;
    int        made;

    if (code)
        return code;
    c = begin("cudaStreamCreateWithFlags", 198, NULL);
    made = standin_stream_new(0);
    *s = (void *)(intptr_t)made;
    op.stream = standin_stream_id(made);
    took(&op, &c);
    if (standin_profiler_now())
        standin_profiler_now()->resource(3, (void *)(uintptr_t)1, *s, NULL);
    return end(&c, 0, 0);
}

int cudaStreamSynchronize(cudaStream_t s)
{
    const int code = ready();
    call      c;

    if (code)
        return code;
    c = begin("cudaStreamSynchronize", 131, NULL);
    standin_drain((int)(intptr_t)s);
    took_wait(&c, 3, standin_stream_id((int)(intptr_t)s), UINT32_MAX);
    return end(&c, CALL_NS, 0);
}

int cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    const int code = ready();
    call      c;

    (void)flags;
    if (code)
        return code;
    c = begin("cudaStreamWaitEvent", 147, NULL);
    standin_event_wait((int)(intptr_t)e, (int)(intptr_t)s);
    took_wait(&c, 2, standin_stream_id((int)(intptr_t)s), (uint32_t)(intptr_t)e);
    return end(&c, 0, 0);
}

int cudaDeviceSynchronize(void)
{
    const int code = ready();
    call      c;

    if (code)
        return code;
    c = begin("cudaDeviceSynchronize", 165, NULL);
    for (int s = 0; s < standin_streams(); s++)
        standin_drain(s);
    took_wait(&c, 4, UINT32_MAX, UINT32_MAX);
    return end(&c, CALL_NS, 0);
}

int cudaDeviceReset(void)
{
    const int code = ready();
    call      c;

    if (code)
        return code;
    c = begin("cudaDeviceReset", 164, NULL);
    for (int s = 0; s < standin_streams(); s++)
        standin_drain(s);
    if (standin_profiler_now())
        standin_profiler_now()->resource(2, (void *)(uintptr_t)1, NULL, NULL);
    return end(&c, CALL_NS, 0);
}

int cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    const int code = ready();
    call      c;

    (void)flags;
    if (code)
        return code;
    c = begin("cudaEventCreateWithFlags", 134, NULL);
    *e = (void *)(intptr_t)standin_event_new();
    return end(&c, 0, 0);
}

int cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    const int  code = ready();
    standin_op op = {.kind = OP_EVENT, .event = (uint32_t)(intptr_t)e};
    call       c;

    if (code)
        return code;
    c = begin("cudaEventRecord", 135, NULL);
    op.stream = standin_stream_id((int)(intptr_t)s);
    standin_event_record((int)(intptr_t)e, (int)(intptr_t)s);
    op.sync_id = standin_event_sync_id((int)(intptr_t)e);
    took(&op, &c);
    return end(&c, 0, 0);
}

int cudaEventSynchronize(cudaEvent_t e)
{
    const int code = ready();
    call      c;

    if (code)
        return code;
    c = begin("cudaEventSynchronize", 137, NULL);
    standin_event_drain((int)(intptr_t)e);
    took_wait(&c, 1, standin_stream_id(standin_event_stream((int)(intptr_t)e)), (uint32_t)(intptr_t)e);
    return end(&c, CALL_NS, 0);
}

int cudaEventQuery(cudaEvent_t e)
{
    const int code = ready();
    call      c;

    if (code)
        return code;
    c = begin("cudaEventQuery", 138, NULL);
    return end(&c, 0, standin_event_is_over((int)(intptr_t)e) ? 0 : 600);
}

int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t s)
{
    const standin_kernel *k = function;
    const int             code = ready();
    call                  c;
    standin_op            op = {.kind = OP_KERNEL,
                                .name = k->name,
                                .grid = {(int)grid.x, (int)grid.y, (int)grid.z},
                                .block = {(int)block.x, (int)block.y, (int)block.z},
                                .registers = k->registers,
                                .static_shared = k->static_shared,
                                .dynamic_shared = (uint32_t)shared};

    (void)arguments;
    if (code)
        return code;
    c = begin("cudaLaunchKernel", 211, k->name);
    op.correlation = c.correlation;
    if (!__atomic_exchange_n(&loaded, true, __ATOMIC_RELAXED)) { /* the first launch loads code */
        standin_op load = {
            .kind = OP_OVERHEAD, .sync_type = 5 << 16, .start = standin_now(), .end = standin_now() + LOAD_NS};

        standin_sleep_until(load.end);
        took(&load, &c);
    }
    standin_add((int)(intptr_t)s, &op, k->length, k->with_others);
    return end(&c, 0, 0);
}

cudaGraphExec_t standin_graph_new(const standin_kernel *const *kernels, int count)
{
    static uint32_t       next = 2;
    struct standin_graph *g = calloc(1, sizeof *g);

    if (ready() || count > GRAPH_KERNELS)
        abort();
    g->id = next;
    next += 2;
    g->count = count;
    memcpy(g->kernels, kernels, (size_t)count * sizeof *kernels);
    return g;
}

int cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t s)
{
    const int code = ready();
    call      c;

    if (code)
        return code;
    c = begin("cudaGraphLaunch", 311, NULL);
    for (int i = 0; i < graph->count; i++) {
        const standin_kernel *k = graph->kernels[i];
        standin_op            op = {.kind = OP_KERNEL,
                                    .name = k->name,
                                    .grid = {64, 1, 1},
                                    .block = {128, 1, 1},
                                    .registers = k->registers,
                                    .static_shared = k->static_shared,
                                    .correlation = c.correlation,
                                    .graph = graph->id,
                                    .graph_node = ((uint64_t)graph->id << 32) + (uint64_t)i + 1};

        standin_add_node((int)(intptr_t)s, &op, k->length);
    }
    {
        const standin_op whole = {.kind = OP_GRAPH, .correlation = c.correlation, .graph = graph->id};

        standin_add_node((int)(intptr_t)s, &whole, 0);
    }
    return end(&c, COPY_CALL_NS, 0);
}

int cudaProfilerStart(void)
{
    const int code = ready();
    call      c;

    if (code)
        return code;
    c = begin("cudaProfilerStart", 171, NULL);
    return end(&c, 0, 0);
}

int cudaProfilerStop(void)
{
    const int code = ready();
    call      c;

    if (code)
        return code;
    c = begin("cudaProfilerStop", 172, NULL);
    return end(&c, 0, 0);
}
