/* SPDX-License-Identifier: Apache-2.0
 * cupti_v2.h - the stand-in's second interface, as 13.3 and later have it: one subscriber with records of its own choice.
 *
 * Part of cupti.c where that is compiled with -DSECOND; needs the vendor's headers.  A record of the first interface is packed
 * anew: the fields that were selected, in that order, each at a multiple of its size.
 *
 *     STANDIN_FIRST=name:1      somebody subscribed before: his name, and whether he shares (1) or not (0)
 *     STANDIN_FIRST=:v1         ... by the first interface, without a name
 *     STANDIN_NO_SHARED_CLOCK=1   who shares has no clock of his own, as in 13.3
 *     STANDIN_STICKY=1          whether CUPTI is shared is said once for the life of the process
 */

/* where a field comes from, and how many bytes it has here */
typedef struct {
    int    kind, number;
    size_t from, from_bytes, bytes;
} field_source;

#define FROM(kind, number, record, member, bytes)                                    \
    {                                                                                \
        kind, number, offsetof(record, member), sizeof(((record *)0)->member), bytes \
    }
#define KERNEL(name, member, bytes)  FROM(OP_KERNEL, KERNEL_FIELD_##name, kernel_record, member, bytes)
#define COPIED(name, member, bytes)  FROM(OP_COPY, MEMCPY_FIELD_##name, copy_record, member, bytes)
#define PEER(name, member, bytes)    FROM(OP_PEER, MEMCPY2_FIELD_##name, CUpti_ActivityMemcpyPtoP4, member, bytes)
#define SET(name, member, bytes)     FROM(OP_SET, MEMSET_FIELD_##name, set_record, member, bytes)
#define CALL(name, member, bytes)    FROM(OP_RUNTIME, API_FIELD_##name, CUpti_ActivityAPI, member, bytes)
#define SYNC(name, member, bytes)    FROM(OP_SYNC, SYNCHRONIZATION_FIELD_##name, sync_record, member, bytes)
#define EVENT(name, member, bytes)   FROM(OP_EVENT, CUDA_EVENT_FIELD_##name, event_record, member, bytes)
#define GRAPH(name, member, bytes)   FROM(OP_GRAPH, GRAPH_TRACE_FIELD_##name, graph_record, member, bytes)
#define MEMORY(name, member, bytes)  FROM(OP_MEMORY, MEMORY_FIELD_##name, memory_record, member, bytes)
#define CONTEXT(name, member, bytes) FROM(OP_CONTEXT, CONTEXT_FIELD_##name, context_record, member, bytes)
#define STREAM(name, member, bytes)  FROM(OP_STREAM, STREAM_FIELD_##name, CUpti_ActivityStream, member, bytes)
#define DEVICE(name, member, bytes)  FROM(OP_DEVICE, DEVICE_FIELD_##name, device_record, member, bytes)
#define COST(name, member, bytes)    FROM(OP_OVERHEAD, OVERHEAD_FIELD_##name, overhead_record, member, bytes)

/* clang-format off */
static const field_source sources[] = {
    KERNEL(KIND, kind, 4), KERNEL(REGISTERS_PER_THREAD, registersPerThread, 2), KERNEL(START, start, 8), KERNEL(END, end, 8),
    KERNEL(DEVICE_ID, deviceId, 4), KERNEL(CONTEXT_ID, contextId, 8), KERNEL(STREAM_ID, streamId, 8), KERNEL(GRID_X, gridX, 4),
    KERNEL(GRID_Y, gridY, 4), KERNEL(GRID_Z, gridZ, 4), KERNEL(BLOCK_X, blockX, 4), KERNEL(BLOCK_Y, blockY, 4),
    KERNEL(BLOCK_Z, blockZ, 4), KERNEL(STATIC_SHARED_MEMORY, staticSharedMemory, 4),
    KERNEL(DYNAMIC_SHARED_MEMORY, dynamicSharedMemory, 4), KERNEL(CORRELATION_ID, correlationId, 8), KERNEL(NAME, name, 8),
    KERNEL(QUEUED, queued, 8), KERNEL(SUBMITTED, submitted, 8), KERNEL(GRAPH_NODE_ID, graphNodeId, 8),
    KERNEL(GRAPH_ID, graphId, 4), KERNEL(LAUNCH_PRIORITY, priority, 4),
    COPIED(KIND, kind, 4), COPIED(COPY_KIND, copyKind, 1), COPIED(SRC_KIND, srcKind, 1), COPIED(DST_KIND, dstKind, 1),
    COPIED(FLAGS, flags, 1), COPIED(BYTES, bytes, 8), COPIED(START, start, 8), COPIED(END, end, 8),
    COPIED(DEVICE_ID, deviceId, 4), COPIED(CONTEXT_ID, contextId, 4), COPIED(STREAM_ID, streamId, 4),
    COPIED(CORRELATION_ID, correlationId, 8), COPIED(GRAPH_NODE_ID, graphNodeId, 8), COPIED(GRAPH_ID, graphId, 4),
    PEER(KIND, kind, 4), PEER(COPY_KIND, copyKind, 1), PEER(SRC_KIND, srcKind, 1), PEER(DST_KIND, dstKind, 1),
    PEER(BYTES, bytes, 8), PEER(START, start, 8), PEER(END, end, 8), PEER(DEVICE_ID, deviceId, 4),
    PEER(CONTEXT_ID, contextId, 4), PEER(STREAM_ID, streamId, 4), PEER(SRC_DEVICE_ID, srcDeviceId, 4),
    PEER(DST_DEVICE_ID, dstDeviceId, 4), PEER(CORRELATION_ID, correlationId, 8), PEER(GRAPH_NODE_ID, graphNodeId, 8),
    PEER(GRAPH_ID, graphId, 4),
    SET(KIND, kind, 4), SET(VALUE, value, 4), SET(BYTES, bytes, 8), SET(START, start, 8), SET(END, end, 8),
    SET(DEVICE_ID, deviceId, 4), SET(CONTEXT_ID, contextId, 4), SET(STREAM_ID, streamId, 4),
    SET(CORRELATION_ID, correlationId, 8), SET(MEMORY_KIND, memoryKind, 2), SET(GRAPH_NODE_ID, graphNodeId, 8),
    SET(GRAPH_ID, graphId, 4),
    CALL(KIND, kind, 4), CALL(CBID, cbid, 4), CALL(START, start, 8), CALL(END, end, 8), CALL(PROCESS_ID, processId, 4),
    CALL(THREAD_ID, threadId, 8), CALL(CORRELATION_ID, correlationId, 8), CALL(RETURN_VALUE, returnValue, 4),
    SYNC(KIND, kind, 4), SYNC(TYPE, type, 4), SYNC(START, start, 8), SYNC(END, end, 8), SYNC(CORRELATION_ID, correlationId, 8),
    SYNC(CONTEXT_ID, contextId, 4), SYNC(STREAM_ID, streamId, 4), SYNC(CUDA_EVENT_ID, cudaEventId, 8),
    SYNC(CUDA_EVENT_SYNC_ID, cudaEventSyncId, 8), SYNC(RETURN_VALUE, returnValue, 4),
    EVENT(KIND, kind, 4), EVENT(CORRELATION_ID, correlationId, 8), EVENT(CONTEXT_ID, contextId, 4),
    EVENT(STREAM_ID, streamId, 4), EVENT(EVENT_ID, eventId, 8), EVENT(DEVICE_ID, deviceId, 4),
    EVENT(CUDA_EVENT_SYNC_ID, cudaEventSyncId, 8),
    GRAPH(KIND, kind, 4), GRAPH(CORRELATION_ID, correlationId, 8), GRAPH(START, start, 8), GRAPH(END, end, 8),
    GRAPH(DEVICE_ID, deviceId, 4), GRAPH(GRAPH_ID, graphId, 4), GRAPH(CONTEXT_ID, contextId, 4), GRAPH(STREAM_ID, streamId, 4),
    MEMORY(KIND, kind, 4), MEMORY(OPERATION_TYPE, memoryOperationType, 4), MEMORY(MEMORY_KIND, memoryKind, 4),
    MEMORY(CORRELATION_ID, correlationId, 8), MEMORY(ADDRESS, address, 8), MEMORY(BYTES, bytes, 8),
    MEMORY(TIMESTAMP, timestamp, 8), MEMORY(DEVICE_ID, deviceId, 4), MEMORY(CONTEXT_ID, contextId, 4),
    MEMORY(STREAM_ID, streamId, 4),
    CONTEXT(KIND, kind, 4), CONTEXT(CONTEXT_ID, contextId, 4), CONTEXT(DEVICE_ID, deviceId, 4),
    CONTEXT(NULL_STREAM_ID, nullStreamId, 4),
    STREAM(KIND, kind, 4), STREAM(CONTEXT_ID, contextId, 4), STREAM(STREAM_ID, streamId, 4), STREAM(PRIORITY, priority, 4),
    STREAM(FLAG, flag, 4), STREAM(CORRELATION_ID, correlationId, 8),
    DEVICE(KIND, kind, 4), DEVICE(GLOBAL_MEMORY_SIZE, globalMemorySize, 8),
    DEVICE(NUM_THREADS_PER_WARP, numThreadsPerWarp, 4), DEVICE(NUM_MULTIPROCESSORS, numMultiprocessors, 4),
    DEVICE(MAX_WARPS_PER_MULTIPROCESSOR, maxWarpsPerMultiprocessor, 4),
    DEVICE(COMPUTE_CAPABILITY_MAJOR, computeCapabilityMajor, 4), DEVICE(COMPUTE_CAPABILITY_MINOR, computeCapabilityMinor, 4),
    DEVICE(ID, id, 4), DEVICE(UUID, uuid, 16), DEVICE(NAME, name, 8), DEVICE(IS_CUDA_VISIBLE, isCudaVisible, 1),
    COST(KIND, kind, 4), COST(OVERHEAD_KIND, overheadKind, 4), COST(PROCESS_ID, objectId.pt.processId, 4),
    COST(THREAD_ID, objectId.pt.threadId, 8), COST(START, start, 8), COST(END, end, 8), COST(CORRELATION_ID, correlationId, 8),
};
/* clang-format on */

enum { MOST_SELECTED = 64 };

static struct {
    CUpti_ActivityFieldLayoutEntry entries[MOST_SELECTED];
    size_t                         from[MOST_SELECTED], from_bytes[MOST_SELECTED];
    size_t                         n, bytes;
} selected[OP_KINDS]; /* bytes 0: not yet */

static uint8_t                              is_shared, user_defined;
static uint8_t                              whole_graphs = 2; /* nobody has said */
static uint8_t                              shared_state = 2;
static CUpti_BuffersCallbackRequestFunc_v2  requested_2;
static CUpti_BuffersCallbackCompleteFunc_v2 completed_2;

static size_t bytes_of(int kind)
{
    return selected[kind].bytes ? selected[kind].bytes : kinds[kind].size;
}

/* The record in its other form, if this kind has one. */
static const void *packed(int kind, const void *record, uint8_t *space)
{
    if (!selected[kind].bytes)
        return record;
    for (size_t i = 0; i < selected[kind].bytes; i++)
        space[i] = (uint8_t)(0x93 + 5 * i);
    for (size_t i = 0; i < selected[kind].n; i++) {
        const CUpti_ActivityFieldLayoutEntry *e = &selected[kind].entries[i];
        const size_t                          n = selected[kind].from_bytes[i];

        memset(space + e->offset, 0, e->size);
        memcpy(space + e->offset, (const uint8_t *)record + selected[kind].from[i], n < e->size ? n : e->size);
    }
    return space;
}

static void ask_for_buffer(uint8_t **bytes, size_t *size, size_t *most)
{
    CUpti_BufferCallbackRequestInfo info = {sizeof info};

    requested_2(bytes, size, most, &info);
}

/* What layouts say is gone when the callback returns. */
static void hand_over(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t used)
{
    CUpti_ActivityRecordLayout      *of_kind[OP_KINDS] = {NULL};
    CUpti_BufferCallbackCompleteInfo info = {sizeof info, (uint64_t)syscall(SYS_gettid), of_kind, OP_KINDS};

    (void)context;
    (void)stream;
    for (size_t at = 0; at < used && *(const uint32_t *)(const void *)(bytes + at);) {
        const uint32_t kind = *(const uint32_t *)(const void *)(bytes + at);

        if (!of_kind[kind] && selected[kind].n) {
            const size_t n = selected[kind].n * sizeof *selected[kind].entries;

            of_kind[kind] = calloc(1, sizeof **of_kind + n);
            of_kind[kind]->structSize = sizeof **of_kind;
            of_kind[kind]->pEntries = (void *)(of_kind[kind] + 1);
            of_kind[kind]->numFields = selected[kind].n;
            of_kind[kind]->recordSize = selected[kind].bytes;
            memcpy(of_kind[kind]->pEntries, selected[kind].entries, n);
        }
        at += bytes_of((int)kind);
    }
    completed_2(bytes, size, used, &info);
    for (int kind = 0; kind < OP_KINDS; kind++)
        if (of_kind[kind]) {
            memset(of_kind[kind], 0xa5, sizeof **of_kind + of_kind[kind]->numFields * sizeof *selected[kind].entries);
            free(of_kind[kind]);
        }
}
