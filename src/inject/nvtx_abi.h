/* SPDX-License-Identifier: Apache-2.0
 * nvtx_abi.h - NVTX 3 as a tool sees it: our own declarations of its public interface (64-bit systems).
 *
 * Facts from nvtx3/nvToolsExt.h, nvToolsExtPayload.h and nvtxDetail/nvtxTypes.h, nvtxExtTypes.h of the CUDA toolkit.
 * NVTX is header-only: each shared object that uses it has its own copy of the tables below.
 */
#ifndef HU_INJECT_NVTX_ABI_H
#define HU_INJECT_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum {
    HU_NVTX_NO_TRACKING = -2, /* what push and pop return when no tool counts levels */
    HU_NVTX_TABLE_CALLBACKS = 1,
    HU_NVTX_TABLE_VERSION = 3,
    HU_NVTX_COLOR_ARGB = 1,
    HU_NVTX_THREAD_NATIVE = 1 << 16 | 3,
    HU_NVTX_THREAD_POSIX = 1 << 16 | 4, /* types of resources */
    HU_NVTX_MODULE_PAYLOAD = 2,         /* of the extensions */
};

#define HU_NVTX_PAYLOAD_EXTENDED ((int32_t)0xDFBD0009)

typedef enum { HU_NVTX_ASCII = 1, HU_NVTX_UNICODE, HU_NVTX_REGISTERED } hu_nvtx_message_type;
typedef enum {
    HU_NVTX_UINT64 = 1,
    HU_NVTX_INT64,
    HU_NVTX_DOUBLE,
    HU_NVTX_UINT32,
    HU_NVTX_INT32,
    HU_NVTX_FLOAT
} hu_nvtx_payload_type;

/* The modules of the callback table, and how many ids each has; id 0 is none. */
typedef enum {
    HU_NVTX_CORE = 1,
    HU_NVTX_CUDA,
    HU_NVTX_OPENCL,
    HU_NVTX_CUDART,
    HU_NVTX_CORE2,
    HU_NVTX_SYNC,
    HU_NVTX_MODULES
} hu_nvtx_module;

/* clang-format off */
enum {
    HU_CORE_MARK_EX = 1, HU_CORE_MARK_A, HU_CORE_MARK_W, HU_CORE_START_EX, HU_CORE_START_A, HU_CORE_START_W, HU_CORE_END,
    HU_CORE_PUSH_EX, HU_CORE_PUSH_A, HU_CORE_PUSH_W, HU_CORE_POP, HU_CORE_CATEGORY_A, HU_CORE_CATEGORY_W,
    HU_CORE_THREAD_A, HU_CORE_THREAD_W, HU_CORE_IDS,
};
enum {
    HU_CORE2_MARK_EX = 1, HU_CORE2_START_EX, HU_CORE2_END, HU_CORE2_PUSH_EX, HU_CORE2_POP, HU_CORE2_RESOURCE_CREATE,
    HU_CORE2_RESOURCE_DESTROY, HU_CORE2_CATEGORY_A, HU_CORE2_CATEGORY_W, HU_CORE2_STRING_A, HU_CORE2_STRING_W,
    HU_CORE2_DOMAIN_A, HU_CORE2_DOMAIN_W, HU_CORE2_DOMAIN_DESTROY, HU_CORE2_INITIALIZE, HU_CORE2_IDS,
};
enum {
    HU_CUDA_DEVICE_A = 1, HU_CUDA_DEVICE_W, HU_CUDA_CONTEXT_A, HU_CUDA_CONTEXT_W, HU_CUDA_STREAM_A, HU_CUDA_STREAM_W,
    HU_CUDA_EVENT_A, HU_CUDA_EVENT_W, HU_CUDA_IDS,
};
enum {
    HU_CUDART_DEVICE_A = 1, HU_CUDART_DEVICE_W, HU_CUDART_STREAM_A, HU_CUDART_STREAM_W, HU_CUDART_EVENT_A,
    HU_CUDART_EVENT_W, HU_CUDART_IDS,
};
/* Slots of the payload extension's only segment. */
enum {
    HU_EXT_SCHEMA, HU_EXT_ENUM, HU_EXT_MARK, HU_EXT_PUSH, HU_EXT_POP, HU_EXT_START, HU_EXT_END, HU_EXT_IS_ENABLED,
    HU_EXT_SCOPE = 12,
};
/* clang-format on */

typedef union {
    const char    *ascii;
    const wchar_t *unicode;
    const void    *registered; /* a handle that a tool gave away */
} hu_nvtx_message;

typedef struct {
    uint16_t        version, size; /* size: bytes of it that the caller knows */
    uint32_t        category;
    int32_t         color_type;
    uint32_t        color;
    int32_t         payload_type; /* hu_nvtx_payload_type, or HU_NVTX_PAYLOAD_EXTENDED */
    int32_t         n_payloads;   /* of extended ones: `payload` points at them */
    uint64_t        payload;
    int32_t         message_type;
    hu_nvtx_message message;
} hu_nvtx_event;

typedef struct {
    uint16_t        version, size;
    int32_t         type;
    uint64_t        identifier;
    int32_t         message_type;
    hu_nvtx_message message;
} hu_nvtx_resource;

typedef struct {
    uint64_t    schema;
    size_t      bytes; /* SIZE_MAX: the tool is to find out */
    const void *data;
} hu_nvtx_payload;

typedef struct {
    uint64_t    flags, type;
    const char *name, *description;
    uint64_t    detail; /* length of an array or a text, or entry that selects a member of a union */
    uint64_t    offset; /* 0 of all but the first: behind the one before, aligned */
    const void *semantics, *reserved;
} hu_nvtx_entry;

/* clang-format off */
enum {                                  /* bits of hu_nvtx_schema.mask */
    HU_NVTX_HAS_NAME = 1 << 1, HU_NVTX_HAS_TYPE = 1 << 2, HU_NVTX_HAS_ENTRIES = 1 << 4, HU_NVTX_HAS_COUNT = 1 << 5,
    HU_NVTX_HAS_SIZE = 1 << 6, HU_NVTX_HAS_PACK = 1 << 7, HU_NVTX_HAS_ID = 1 << 8,
};
/* clang-format on */

typedef struct {
    uint64_t             mask;
    const char          *name;
    uint64_t             type, flags;
    const hu_nvtx_entry *entries;
    size_t               n_entries, bytes, pack;
    uint64_t             id;
} hu_nvtx_schema;

typedef struct {
    const char *name;
    uint64_t    value;
    int8_t      is_flag;
} hu_nvtx_enum_value;

enum {
    HU_NVTX_ENUM_HAS_ENTRIES = 1 << 2,
    HU_NVTX_ENUM_HAS_COUNT = 1 << 3,
    HU_NVTX_ENUM_HAS_SIZE = 1 << 4,
    HU_NVTX_ENUM_HAS_ID = 1 << 5
};

typedef struct {
    uint64_t                  mask;
    const char               *name;
    const hu_nvtx_enum_value *entries;
    size_t                    n_entries, bytes;
    uint64_t                  id;
} hu_nvtx_enum;

typedef struct {
    size_t      bytes;
    const char *path;
    uint64_t    parent, id;
} hu_nvtx_scope;

typedef void (*hu_nvtx_function)(void);
typedef const void *(*hu_nvtx_get_table)(uint32_t id);

typedef struct {
    size_t bytes;
    int (*get_module)(int module, hu_nvtx_function ***table, unsigned *size);
} hu_nvtx_callbacks;

typedef struct {
    size_t    id, n_slots;
    intptr_t *slots;
} hu_nvtx_segment;

typedef struct {
    uint16_t         version, bytes, module, compatible;
    size_t           n_segments;
    hu_nvtx_segment *segments;
    const void      *get_export, *info;
} hu_nvtx_extension;

_Static_assert(sizeof(hu_nvtx_event) == 48 && offsetof(hu_nvtx_event, message) == 40, "nvtxEventAttributes_v2");
_Static_assert(sizeof(hu_nvtx_resource) == 32, "nvtxResourceAttributes_v0");
_Static_assert(sizeof(hu_nvtx_entry) == 64 && sizeof(hu_nvtx_payload) == 24, "nvtxPayloadSchemaEntry_v1");
_Static_assert(offsetof(hu_nvtx_schema, id) == 64 && offsetof(hu_nvtx_enum, id) == 40, "nvtxPayloadSchemaAttr_v1");

#endif
