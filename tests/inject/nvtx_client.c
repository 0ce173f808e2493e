/* SPDX-License-Identifier: Apache-2.0
 * nvtx_client.c - calls nearly all of NVTX through its real headers; tests/test_nvtx.py knows what must come of it. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STATIC_ID = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5, ENUM_ID = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 6 };

typedef struct {
    uint64_t           communicator;
    size_t             bytes;
    int32_t            root;
    uint32_t           operation;
    const char        *label;
    nvtxStringHandle_t registered;
    double             factors[3];
    char               fixed[8];
} message;

static nvtxRangeId_t shared_range;

static void *ends_it(void *domain)
{
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "ender");
    nvtxDomainRangeEnd(domain, shared_range);
    return NULL;
}

static nvtxEventAttributes_t event(const char *text)
{
    nvtxEventAttributes_t e = {0};

    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    e.messageType = NVTX_MESSAGE_TYPE_ASCII;
    e.message.ascii = text;
    return e;
}

static void payload_types(void)
{
    nvtxEventAttributes_t e = event("classic");

    for (int type = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64; type <= NVTX_PAYLOAD_TYPE_FLOAT; type++) {
        e.payloadType = type;
        switch (type) {
        case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
            e.payload.ullValue = UINT64_MAX;
            break;
        case NVTX_PAYLOAD_TYPE_INT64:
            e.payload.llValue = -5;
            break;
        case NVTX_PAYLOAD_TYPE_DOUBLE:
            e.payload.dValue = 0.25;
            break;
        case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
            e.payload.uiValue = 4000000000u;
            break;
        case NVTX_PAYLOAD_TYPE_INT32:
            e.payload.iValue = -7;
            break;
        default:
            e.payload.fValue = 1.5f;
        }
        nvtxMarkEx(&e);
    }
}

static void short_and_long_structs(void)
{
    struct {
        nvtxEventAttributes_t e;
        char                  later[64];
    } large = {.e = event("of a later version")};
    nvtxEventAttributes_t small = event("not read");

    large.e.size = sizeof large;
    memset(large.later, 0xff, sizeof large.later);
    nvtxMarkEx(&large.e);
    small.color = 0xff00ff00;
    small.colorType = NVTX_COLOR_ARGB;
    small.size = 16; /* knows nothing of messages */
    nvtxMarkEx(&small);
    nvtxMarkEx(NULL);
}

static void payloads(nvtxDomainHandle_t domain, nvtxStringHandle_t registered)
{
    static const nvtxPayloadEnum_t operations[] = {{"sum", 0, 0}, {"prod", 1, 0}, {"max", 2, 0}};
    /* clang-format off */
    const nvtxPayloadEnumAttr_t enum_attr = {
        .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
        .entries = operations, .numEntries = 3, .sizeOfEnum = 4, .schemaId = ENUM_ID};
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "comm", NULL, 0, offsetof(message, communicator)},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "bytes", NULL, 0, offsetof(message, bytes)},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "root", NULL, 0, offsetof(message, root)},
        {0, ENUM_ID, "operation", NULL, 0, offsetof(message, operation)},
        {NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "label", NULL, 0, offsetof(message, label)},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "registered", NULL, 0, offsetof(message, registered)},
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "factors", NULL, 3, offsetof(message, factors)},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "fixed", NULL, 8, offsetof(message, fixed)},
    };
    nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
        .name = "message", .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, .entries = entries, .numEntries = 8,
        .payloadStaticSize = sizeof(message), .schemaId = STATIC_ID};
    message data = {0xfeedfacecafebeefull, 1 << 20, -1, 2, "from a pointer", registered, {0.5, 1, -2}, "fixed"};
    nvtxPayloadSchemaEntry_t named[] = {
        {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "what"},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "peer"},
    };
    /* clang-format on */
    struct {
        nvtxStringHandle_t what;
        int32_t            peer;
    } with_name = {registered, 3};
    nvtxPayloadData_t list[2];
    uint64_t          dynamic;
    int               scalar = 42;

    if (nvtxPayloadEnumRegister(domain, &enum_attr) != ENUM_ID || nvtxPayloadSchemaRegister(domain, &schema) != STATIC_ID)
        puts("ids of schemas were changed");
    list[0] = (nvtxPayloadData_t){STATIC_ID, sizeof data, &data};
    list[1] = (nvtxPayloadData_t){NVTX_PAYLOAD_ENTRY_TYPE_INT32, sizeof scalar, &scalar};
    {
        nvtxEventAttributes_t e = event("AllReduce");

        NVTX_PAYLOAD_EVTATTR_SET_MULTIPLE(e, list);
        nvtxDomainRangePushEx(domain, &e);
        nvtxDomainRangePop(domain);
    }
    schema.entries = named;
    schema.numEntries = 2;
    schema.fieldMask &= ~(uint64_t)(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
    dynamic = nvtxPayloadSchemaRegister(domain, &schema);
    list[0] = (nvtxPayloadData_t){dynamic, SIZE_MAX, &with_name};
    nvtxMarkPayload(domain, list, 1);
    nvtxRangePushPayload(domain, list, 1);
    with_name.peer = 4;
    nvtxRangePopPayload(domain, list, 1);
    nvtxRangeEndPayload(domain, nvtxRangeStartPayload(domain, list, 1), list, 1);
    printf("enabled %d\n", nvtxDomainIsEnabled(domain));
}

int main(int argc, char **argv)
{
    nvtxDomainHandle_t       domain = nvtxDomainCreateA("a domain"), again = nvtxDomainCreateW(L"a domain");
    nvtxStringHandle_t       registered = nvtxDomainRegisterStringA(domain, "registered"), wide;
    nvtxEventAttributes_t    e = event("with a category");
    nvtxResourceAttributes_t resource = {.version = NVTX_VERSION,
                                         .size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE,
                                         .identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER,
                                         .identifier.pValue = &e,
                                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                         .message.ascii = "a resource"};
    pthread_t                thread;
    nvtxRangeId_t            first, second;

    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "main thread");
    nvtxRangePushA("ascii");
    nvtxRangePushW(L"w\u00efde \u20ac \U0001f600");
    nvtxRangePop();
    nvtxMarkA("a mark");
    nvtxRangePop();
    nvtxNameCategoryA(3, "cat of none");
    nvtxDomainNameCategoryA(domain, 3, "cat of a domain");
    e.category = 3;
    e.colorType = NVTX_COLOR_ARGB;
    e.color = 0xff0088ff;
    nvtxMarkEx(&e);
    nvtxDomainMarkEx(domain, &e);
    e = event(NULL);
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = registered;
    nvtxDomainRangePushEx(domain, &e);
    nvtxDomainRangePop(domain);
    wide = nvtxDomainRegisterStringW(domain, L"registered");
    printf("same handles %d %d\n", wide == registered, again == domain);
    payload_types();
    short_and_long_structs();
    first = nvtxRangeStartA("overlapping 1");
    second = nvtxDomainRangeStartEx(domain, &e);
    nvtxRangeEnd(first);
    shared_range = second;
    pthread_create(&thread, NULL, ends_it, domain);
    pthread_join(thread, NULL);
    nvtxDomainResourceDestroy(nvtxDomainResourceCreate(domain, &resource));
    payloads(domain, registered);
    if (argc > 1) { /* a capture range */
        nvtxRangePushA("outside");
        nvtxRangePushA(argv[1]);
        nvtxRangePushA("inside");
        nvtxRangePop();
        nvtxRangePop();
        nvtxRangePop();
        nvtxRangePushA("outside again");
        nvtxRangePop();
    }
    nvtxDomainDestroy(domain);
    return 0;
}
