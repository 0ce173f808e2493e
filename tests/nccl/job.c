/* SPDX-License-Identifier: Apache-2.0
 * job.c - a rank of a job whose collectives run on the stand-in device (tests/cuda), and who tells of them what NCCL tells.
 *
 *     job WORDS STEPS      WORDS: "plugin" or "plugin4" (that of NCCL 2.27), "nvtx", or two with a comma; RANK and WORLD_SIZE are the
 *                          environment's
 *
 * A step is: kernels, an all-reduce of all ranks on a stream of its own, and an all-gather of each pair of ranks (0 and 1, 2 and 3 ...)
 * on another one.  The profiler's calls are driver.c's.  Ranges of NVTX are those of NCCL's sources: a domain of its name, and payloads
 * of two fields.
 */
#define main driver_main
#include "driver.c"
#undef main

#include "../cuda/runtime.h"

#ifdef WITH_NVTX
#include <nvtx3/nvToolsExtPayload.h>
enum { SCHEMA_OF_COMM = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1, SCHEMA_OF_MESSAGE };
#else
enum { SCHEMA_OF_COMM, SCHEMA_OF_MESSAGE };
#endif

enum { ELEMENTS = 1048576 };

typedef struct {
    uint64_t comm;
    int      ranks, rank;
} comm_payload;

typedef struct {
    uint64_t comm;
    size_t   bytes;
} message_payload;

typedef struct {
    const char           *name, *function, *range;
    uint64_t              hash;
    int                   ranks, rank;
    cudaStream_t          stream;
    const standin_kernel *kernel;
    void                 *context;
    uint64_t              calls;
} communicator;

static const standin_kernel compute = {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", 90000, false, 122,
                                       16384};
static const standin_kernel reduce = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 200000,
                                      true, 96, 20240};
static const standin_kernel gather = {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 100000, false, 96,
                                      20240};

static communicator        world = {"world", "AllReduce", "ncclAllReduce", 0xc0ffee0000000001, 0, 0, NULL, &reduce, NULL, 0};
static communicator        pair = {"pair", "AllGather", "ncclAllGather", 0, 2, 0, NULL, &gather, NULL, 0};
static const communicator *launching;
static int                 with_plugin, with_nvtx;

static void launch_now(void)
{
    cudaLaunchKernel(launching->kernel, (dim3){24, 1, 1}, (dim3){512, 1, 1}, NULL, 0, launching->stream);
}

#ifdef WITH_NVTX
static nvtxDomainHandle_t domain;

/* clang-format off */
static void make_schema(const char *name, uint64_t id, size_t bytes, const nvtxPayloadSchemaEntry_t *entries, size_t n)
{
    const nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
        .name = name, .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, .entries = entries, .numEntries = n, .payloadStaticSize = bytes,
        .schemaId = id};

    nvtxPayloadSchemaRegister(domain, &schema);
}

static void make_schemas(void)
{
    static const nvtxPayloadSchemaEntry_t of_comm[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", NULL, 0, 0},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks", NULL, 0, offsetof(comm_payload, ranks)},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank", NULL, 0, offsetof(comm_payload, rank)}};
    static const nvtxPayloadSchemaEntry_t of_message[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", NULL, 0, 0},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", NULL, 0, offsetof(message_payload, bytes)}};

    domain = nvtxDomainCreateA("NCCL");
    make_schema("ncclCommInitRank", SCHEMA_OF_COMM, sizeof(comm_payload), of_comm, 3);
    make_schema("collective", SCHEMA_OF_MESSAGE, sizeof(message_payload), of_message, 2);
}
/* clang-format on */

static void push(const char *name, uint64_t schema, const void *bytes, size_t n)
{
    nvtxPayloadData_t     payload = {.schemaId = schema, .size = n, .payload = bytes};
    nvtxEventAttributes_t e = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

    e.messageType = NVTX_MESSAGE_TYPE_ASCII;
    e.message.ascii = name;
    e.payloadType = NVTX_PAYLOAD_TYPE_EXT; /* the macros for this differ from header to header */
    e.reserved0 = 1;
    e.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    if (with_nvtx)
        nvtxDomainRangePushEx(domain, &e);
}

static void pop(void)
{
    if (with_nvtx)
        nvtxDomainRangePop(domain);
}

#else
static void make_schemas(void)
{
    check(0, "it was built without NVTX");
}

static void push(const char *name, uint64_t schema, const void *bytes, size_t n)
{
    (void)name, (void)schema, (void)bytes, (void)n;
}

static void pop(void) {}
#endif

static void join(communicator *c, int rank)
{
    const comm_payload said = {c->hash, c->ranks, rank};

    c->rank = rank;
    push("ncclCommInitRank", SCHEMA_OF_COMM, &said, sizeof said);
    if (with_plugin) {
        begin_comm(c->hash, c->name, 1, c->ranks, rank);
        c->context = context;
    }
    pop();
    cudaStreamCreateWithFlags(&c->stream, 1);
}

/* As NCCL 2.27 and older: the operation, and nothing of the call. */
static void tell_early(const communicator *c)
{
    void *group, *operation;
    EVENT(4, e, GROUP, NULL);

    group = start(&e);
    HEAD(e, COLL, group);
    e.coll.seq = c->calls;
    e.coll.func = temporary(c->function);
    e.coll.send = e.coll.recv = NULL;
    e.coll.count = ELEMENTS;
    e.coll.root = 0;
    e.coll.datatype = temporary("ncclFloat32");
    e.coll.channels = 24;
    e.coll.warps = 16;
    e.coll.algo = temporary("RING");
    e.coll.proto = temporary("LL");
    operation = start(&e);
    launch_now();
    stop(operation);
    stop(group);
}

static void tell(communicator *c)
{
    if (version < 5)
        tell_early(c);
    else
        call(c->function, c->calls, 0, NULL);
    c->calls++;
}

static void collective(communicator *c)
{
    const message_payload said = {c->hash, ELEMENTS * sizeof(float)};

    launching = c;
    push(c->range, SCHEMA_OF_MESSAGE, &said, sizeof said);
    if (with_plugin) {
        context = c->context;
        rank_here = c->rank;
        tell(c);
    } else {
        launch_now();
    }
    pop();
}

int main(int argc, char **argv)
{
    const int steps = argc > 2 ? atoi(argv[2]) : 1, rank = atoi(getenv("RANK"));

    with_plugin = argc > 1 && strstr(argv[1], "plugin") != NULL;
    with_nvtx = argc > 1 && strstr(argv[1], "nvtx") != NULL;
    check(cudaSetDevice(0) == 0, "device");
    if (with_plugin)
        load(strstr(argv[1], "plugin4") ? 4 : 0);
    if (with_nvtx)
        make_schemas();
    on_launch = launch_now;
    world.ranks = atoi(getenv("WORLD_SIZE"));
    pair.hash = 0xbeef000000000000 + (uint64_t)rank / 2;
    join(&world, rank);
    join(&pair, rank % 2);
    for (int i = 0; i < steps; i++) {
        holdup_step_number(i);
        for (int k = 0; k < 10; k++)
            cudaLaunchKernel(&compute, (dim3){216, 1, 1}, (dim3){256, 1, 1}, NULL, 0, NULL);
        collective(&world);
        collective(&pair);
        cudaDeviceSynchronize();
    }
    holdup_step_end();
    return 0;
}
