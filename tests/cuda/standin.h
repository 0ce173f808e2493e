/* SPDX-License-Identifier: Apache-2.0
 * standin.h - what the stand-in device (device.c) tells the stand-in profiler library (cupti.c).
 *
 * Times are CLOCK_MONOTONIC ns.  The profiler library finds the device with dlsym("standin_attach") in the libcuda.so.1 that is
 * mapped; a real one has no such symbol.  Both write what they saw to the file that STANDIN_LOG names, a line at a time, so that
 * it survives any end of the process.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdint.h>

/* as the activity kinds are numbered */
enum {
    OP_COPY = 1,
    OP_SET = 2,
    OP_DRIVER = 4,
    OP_RUNTIME = 5,
    OP_DEVICE = 8,
    OP_CONTEXT = 9,
    OP_KERNEL = 10,
    OP_OVERHEAD = 17,
    OP_PEER = 22,
    OP_EVENT = 36,
    OP_STREAM = 37,
    OP_SYNC = 38,
    OP_MEMORY = 49,
    OP_GRAPH = 51,
    OP_STRANGE = 63, /* no kind of any version */
    OP_KINDS = 64
};

/* domains of callbacks */
enum { CB_DRIVER = 1, CB_RUNTIME = 2, CB_RESOURCE = 3 };

typedef struct {
    int         kind;
    uint32_t    device, context, stream, correlation;
    int64_t     start, end, queued, submitted; /* queued, submitted: 0 where they were not asked for */
    const char *name;
    uint64_t    graph_node;
    uint32_t    graph;
    int32_t     grid[3], block[3];
    uint16_t    registers;
    uint32_t    static_shared, dynamic_shared;
    uint64_t    bytes;
    uint8_t     copy_kind, from_kind, to_kind, flags; /* flags 1: asynchronous */
    uint32_t    value;
    uint32_t    cbid, thread, result;
    uint32_t    sync_type, event, peer; /* OP_OVERHEAD: sync_type is the overhead's kind */
    uint64_t    sync_id;                /* of one recording of an event */
    uint64_t    address;
    uint32_t    memory_kind, memory_op;
    int32_t     priority;
    uint8_t     uuid[16], is_hidden; /* of a device */
} standin_op;

typedef struct {
    uint32_t (*call_begins)(int domain, uint32_t cbid, const char *name, const char *kernel); /* its correlation, 0: none */
    void (*call_ends)(int domain, uint32_t cbid, const char *name, uint32_t correlation, int64_t start, uint32_t result);
    void (*took)(const standin_op *op);
    void (*resource)(uint32_t cbid, void *context, void *stream, const void *descriptor);
    void (*launched)(const standin_op *op); /* work that took() will tell when it is over */
} standin_profiler;

typedef struct {
    void (*report)(void); /* tells all that is over by now */
    int (*devices)(void); /* how many there are */
    int (*in_init)(void); /* is this thread inside cuInit? */
    uint32_t (*describe)(
        standin_op *op); /* contexts and streams so far, one for each call with a larger *op->value; 0: no more */
} standin_device;

typedef const standin_device *standin_attach_fn(const standin_profiler *profiler);

#endif
