/* SPDX-License-Identifier: Apache-2.0
 * abi.h - the records of CUPTI 13.0 on x86-64, from tables of facts by tests/cuda/make_abi.py, not by hand.
 *
 * A stand-in library that is compiled with it (-DOWN_ABI) answers as version 130001.  Bytes that no field has are called gap.
 */
#ifndef STANDIN_ABI_H
#define STANDIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_VERSION      13000
#define CUPTI_API_VERSION 130001
#define CUPTIAPI

typedef struct CUctx_st    *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct subscriber  *CUpti_SubscriberHandle;
typedef uint32_t            CUptiResult;
typedef uint32_t            CUpti_ActivityKind;
typedef uint32_t            CUpti_ActivityAttribute;
typedef uint32_t            CUpti_ActivityThreadIdType;
typedef uint32_t            CUpti_ExternalCorrelationKind;
typedef uint32_t            CUpti_CallbackDomain;
typedef uint32_t            CUpti_CallbackId;
typedef void (*CUpti_CallbackFunc)(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);
typedef uint64_t (*CUpti_TimestampCallbackFunc)(void);
typedef void (*CUpti_BuffersCallbackRequestFunc)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*CUpti_BuffersCallbackCompleteFunc)(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                                  size_t valid);

/* what a callback of a call gets: site 0 is entry, 1 is exit */
typedef struct {
    uint32_t    callbackSite;
    const char *functionName;
    const void *functionParams;
    void       *functionReturnValue;
    const char *symbolName;
    CUcontext   context;
    uint32_t    contextUid;
    uint64_t   *correlationData;
    uint32_t    correlationId;
} CUpti_CallbackData;

/* what a callback about a context, stream or module gets */
typedef struct {
    CUcontext context;
    union {
        CUstream stream;
    } resourceHandle;
    void *resourceDescriptor;
} CUpti_ResourceData;

/* 216 bytes */
typedef struct {
    uint32_t    kind;
    uint8_t     cacheConfig;
    uint8_t     sharedMemoryConfig;
    uint16_t    registersPerThread;
    uint32_t    partitionedGlobalCacheRequested;
    uint32_t    partitionedGlobalCacheExecuted;
    uint64_t    start;
    uint64_t    end;
    uint64_t    completed;
    uint32_t    deviceId;
    uint32_t    contextId;
    uint32_t    streamId;
    uint32_t    gridX;
    uint32_t    gridY;
    uint32_t    gridZ;
    uint32_t    blockX;
    uint32_t    blockY;
    uint32_t    blockZ;
    uint32_t    staticSharedMemory;
    uint32_t    dynamicSharedMemory;
    uint32_t    localMemoryPerThread;
    uint32_t    localMemoryTotal;
    uint32_t    correlationId;
    uint64_t    gridId;
    const char *name;
    void       *reserved0;
    uint64_t    queued;
    uint64_t    submitted;
    uint8_t     launchType;
    uint8_t     isSharedMemoryCarveoutRequested;
    uint8_t     sharedMemoryCarveoutRequested;
    uint8_t     padding;
    uint32_t    sharedMemoryExecuted;
    uint64_t    graphNodeId;
    uint32_t    shmemLimitConfig;
    uint32_t    graphId;
    void       *pAccessPolicyWindow;
    uint32_t    channelID;
    uint32_t    channelType;
    uint32_t    clusterX;
    uint32_t    clusterY;
    uint32_t    clusterZ;
    uint32_t    clusterSchedulingPolicy;
    uint64_t    localMemoryTotal_v2;
    uint32_t    maxPotentialClusterSize;
    uint32_t    maxActiveClusters;
    uint8_t     isDeviceLaunched;
    uint8_t     padding3[7];
} __attribute__((packed, aligned(8))) CUpti_ActivityKernel10;
_Static_assert(sizeof(CUpti_ActivityKernel10) == 216, "CUpti_ActivityKernel10");

/* 96 bytes */
typedef struct {
    uint32_t kind;
    uint8_t  copyKind;
    uint8_t  srcKind;
    uint8_t  dstKind;
    uint8_t  flags;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t correlationId;
    uint32_t runtimeCorrelationId;
    uint32_t pad;
    void    *reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
    uint32_t channelID;
    uint32_t channelType;
    uint8_t  isDeviceLaunched;
    uint8_t  pad2[3];
    uint64_t copyCount;
} __attribute__((packed, aligned(8))) CUpti_ActivityMemcpy6;
_Static_assert(sizeof(CUpti_ActivityMemcpy6) == 96, "CUpti_ActivityMemcpy6");

/* 96 bytes */
typedef struct {
    uint32_t kind;
    uint8_t  copyKind;
    uint8_t  srcKind;
    uint8_t  dstKind;
    uint8_t  flags;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t srcDeviceId;
    uint32_t srcContextId;
    uint32_t dstDeviceId;
    uint32_t dstContextId;
    uint32_t correlationId;
    void    *reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
    uint32_t channelID;
    uint32_t channelType;
    uint8_t  gap[4];
} __attribute__((packed, aligned(8))) CUpti_ActivityMemcpyPtoP4;
_Static_assert(sizeof(CUpti_ActivityMemcpyPtoP4) == 96, "CUpti_ActivityMemcpyPtoP4");

/* 88 bytes */
typedef struct {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t correlationId;
    uint16_t flags;
    uint16_t memoryKind;
    uint32_t pad;
    void    *reserved0;
    uint64_t graphNodeId;
    uint32_t graphId;
    uint32_t channelID;
    uint32_t channelType;
    uint8_t  isDeviceLaunched;
    uint8_t  pad2[3];
} __attribute__((packed, aligned(8))) CUpti_ActivityMemset4;
_Static_assert(sizeof(CUpti_ActivityMemset4) == 88, "CUpti_ActivityMemset4");

/* 40 bytes */
typedef struct {
    uint32_t kind;
    uint32_t cbid;
    uint64_t start;
    uint64_t end;
    uint32_t processId;
    uint32_t threadId;
    uint32_t correlationId;
    uint32_t returnValue;
} __attribute__((packed, aligned(8))) CUpti_ActivityAPI;
_Static_assert(sizeof(CUpti_ActivityAPI) == 40, "CUpti_ActivityAPI");

/* 56 bytes */
typedef struct {
    uint32_t kind;
    uint32_t type;
    uint64_t start;
    uint64_t end;
    uint32_t correlationId;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t cudaEventId;
    uint64_t cudaEventSyncId;
    uint32_t returnValue;
    uint32_t pad;
} __attribute__((packed, aligned(8))) CUpti_ActivitySynchronization2;
_Static_assert(sizeof(CUpti_ActivitySynchronization2) == 56, "CUpti_ActivitySynchronization2");

/* 56 bytes */
typedef struct {
    uint32_t kind;
    uint32_t overheadKind;
    uint32_t objectKind;
    uint8_t  objectId[12];
    uint64_t start;
    uint64_t end;
    uint32_t correlationId;
    uint32_t reserved0;
    void    *overheadData;
} __attribute__((packed, aligned(8))) CUpti_ActivityOverhead3;
_Static_assert(sizeof(CUpti_ActivityOverhead3) == 56, "CUpti_ActivityOverhead3");

/* 56 bytes */
typedef struct {
    uint32_t kind;
    uint32_t correlationId;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t graphId;
    uint32_t contextId;
    uint32_t streamId;
    uint64_t reserved;
    uint32_t endDeviceId;
    uint32_t endContextId;
} __attribute__((packed, aligned(8))) CUpti_ActivityGraphTrace2;
_Static_assert(sizeof(CUpti_ActivityGraphTrace2) == 56, "CUpti_ActivityGraphTrace2");

/* 56 bytes */
typedef struct {
    uint32_t kind;
    uint32_t correlationId;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t eventId;
    uint32_t pad;
    uint32_t deviceId;
    uint32_t pad2;
    void    *reserved0;
    uint64_t deviceTimestamp;
    uint64_t cudaEventSyncId;
} __attribute__((packed, aligned(8))) CUpti_ActivityCudaEvent2;
_Static_assert(sizeof(CUpti_ActivityCudaEvent2) == 56, "CUpti_ActivityCudaEvent2");

/* 128 bytes */
typedef struct {
    uint32_t    kind;
    uint32_t    memoryOperationType;
    uint32_t    memoryKind;
    uint32_t    correlationId;
    uint64_t    address;
    uint64_t    bytes;
    uint64_t    timestamp;
    uint64_t    PC;
    uint32_t    processId;
    uint32_t    deviceId;
    uint32_t    contextId;
    uint32_t    streamId;
    const char *name;
    uint32_t    isAsync;
    uint32_t    pad1;
    uint8_t     memoryPoolConfig[40];
    const char *source;
} __attribute__((packed, aligned(8))) CUpti_ActivityMemory4;
_Static_assert(sizeof(CUpti_ActivityMemory4) == 128, "CUpti_ActivityMemory4");

/* 24 bytes */
typedef struct {
    uint32_t kind;
    uint32_t contextId;
    uint32_t streamId;
    uint32_t priority;
    uint32_t flag;
    uint32_t correlationId;
} __attribute__((packed, aligned(8))) CUpti_ActivityStream;
_Static_assert(sizeof(CUpti_ActivityStream) == 24, "CUpti_ActivityStream");

/* 32 bytes */
typedef struct {
    uint32_t kind;
    uint32_t contextId;
    uint32_t deviceId;
    uint16_t computeApiKind;
    uint16_t nullStreamId;
    uint32_t parentContextId;
    uint8_t  isGreenContext;
    uint8_t  padding;
    uint16_t numMultiprocessors;
    uint32_t cigMode;
    uint32_t padding2;
} __attribute__((packed, aligned(8))) CUpti_ActivityContext3;
_Static_assert(sizeof(CUpti_ActivityContext3) == 32, "CUpti_ActivityContext3");

/* 184 bytes */
typedef struct {
    uint32_t    kind;
    uint32_t    flags;
    uint64_t    globalMemoryBandwidth;
    uint64_t    globalMemorySize;
    uint32_t    constantMemorySize;
    uint32_t    l2CacheSize;
    uint32_t    numThreadsPerWarp;
    uint32_t    coreClockRate;
    uint32_t    numMemcpyEngines;
    uint32_t    numMultiprocessors;
    uint32_t    maxIPC;
    uint32_t    maxWarpsPerMultiprocessor;
    uint32_t    maxBlocksPerMultiprocessor;
    uint32_t    maxSharedMemoryPerMultiprocessor;
    uint32_t    maxRegistersPerMultiprocessor;
    uint32_t    maxRegistersPerBlock;
    uint32_t    maxSharedMemoryPerBlock;
    uint32_t    maxThreadsPerBlock;
    uint32_t    maxBlockDimX;
    uint32_t    maxBlockDimY;
    uint32_t    maxBlockDimZ;
    uint32_t    maxGridDimX;
    uint32_t    maxGridDimY;
    uint32_t    maxGridDimZ;
    uint32_t    computeCapabilityMajor;
    uint32_t    computeCapabilityMinor;
    uint32_t    id;
    uint32_t    eccEnabled;
    uint8_t     uuid[16];
    const char *name;
    uint8_t     isCudaVisible;
    uint8_t     isMigEnabled;
    uint8_t     reserved[6];
    uint32_t    gpuInstanceId;
    uint32_t    computeInstanceId;
    uint8_t     migUuid[16];
    uint32_t    isNumaNode;
    uint32_t    numaId;
} __attribute__((packed, aligned(8))) CUpti_ActivityDevice5;
_Static_assert(sizeof(CUpti_ActivityDevice5) == 184, "CUpti_ActivityDevice5");

/* 24 bytes */
typedef struct {
    uint32_t kind;
    uint32_t externalKind;
    uint64_t externalId;
    uint32_t correlationId;
    uint32_t reserved;
} __attribute__((packed, aligned(8))) CUpti_ActivityExternalCorrelation;
_Static_assert(sizeof(CUpti_ActivityExternalCorrelation) == 24, "CUpti_ActivityExternalCorrelation");

/* 8 bytes */
typedef struct {
    uint32_t kind;
    uint8_t  gap[4];
} __attribute__((packed, aligned(8))) CUpti_Activity;
_Static_assert(sizeof(CUpti_Activity) == 8, "CUpti_Activity");

enum {
    CUPTI_ERROR_INVALID_KIND = 21,
    CUPTI_ERROR_INVALID_OPERATION = 7,
    CUPTI_ERROR_INVALID_PARAMETER = 1,
    CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
    CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
    CUPTI_ERROR_NOT_COMPATIBLE = 14,
    CUPTI_ERROR_NOT_INITIALIZED = 15,
    CUPTI_ERROR_UNKNOWN = 999,
    CUPTI_SUCCESS = 0,
};

enum {
    CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020 = 16,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020 = 17,
    CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020 = 20,
    CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020 = 22,
    CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020 = 27,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020 = 31,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020 = 41,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020 = 51,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020 = 131,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventCreateWithFlags_v3020 = 134,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020 = 135,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020 = 137,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020 = 138,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020 = 147,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000 = 161,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020 = 164,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020 = 165,
    CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000 = 171,
    CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000 = 172,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreateWithFlags_v5000 = 198,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 = 211,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000 = 311,
    CUPTI_DRIVER_TRACE_CBID_cuInit = 1,
    CUPTI_DRIVER_TRACE_CBID_cuModuleUnload = 22,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel = 307,
};

#endif
