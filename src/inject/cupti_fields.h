/* SPDX-License-Identifier: Apache-2.0
 * cupti_fields.h - where each field of CUPTI's records lies.
 *
 * The library that fills a buffer decides how its records look, not the one whose headers somebody had.  In its first
 * interface a field has an offset, and an interface version since which it is there: in 17 versions of the headers, 11.7 to
 * 13.5, none that is used here has moved.  Version 18 is 11.8, 12.0 and 12.1: what only the last two have is left alone.  In
 * its second interface each field has a number, we choose those that we want, and CUPTI says where it puts them.
 *
 * Either way the decoder asks hu_cupti_get; a field that the loaded library does not have is 0.
 */
#ifndef HU_INJECT_CUPTI_FIELDS_H
#define HU_INJECT_CUPTI_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Kinds of records. */
/* clang-format off */
enum {
    OF_COPY = 1, OF_FILL = 2, OF_DRIVER_CALL = 4, OF_RUNTIME_CALL = 5, OF_DEVICE = 8, OF_CONTEXT = 9, OF_KERNEL = 10,
    OF_COST = 17, OF_PEER_COPY = 22, OF_EVENT = 36, OF_STREAM = 37, OF_WAIT = 38, OF_MEMORY = 49, OF_GRAPH = 51,
    OF_HOST_NODE = 56, OF_HOST_LAUNCH = 58,
};

/* F(name, kind, offset and bytes in the first interface, its first version, number in the second one; -1: not there) */
#define FIELDS(F)                                                                                                      \
    F(KERNEL_REGISTERS, OF_KERNEL, 6, 2, 0, 4) F(KERNEL_START, OF_KERNEL, 16, 8, 0, 7)                                 \
    F(KERNEL_END, OF_KERNEL, 24, 8, 0, 8) F(KERNEL_DEVICE, OF_KERNEL, 40, 4, 0, 10)                                    \
    F(KERNEL_CONTEXT, OF_KERNEL, 44, 4, 0, 11) F(KERNEL_STREAM, OF_KERNEL, 48, 4, 0, 12)                               \
    F(KERNEL_GRID_X, OF_KERNEL, 52, 4, 0, 13) F(KERNEL_GRID_Y, OF_KERNEL, 56, 4, 0, 14)                                \
    F(KERNEL_GRID_Z, OF_KERNEL, 60, 4, 0, 15) F(KERNEL_BLOCK_X, OF_KERNEL, 64, 4, 0, 16)                               \
    F(KERNEL_BLOCK_Y, OF_KERNEL, 68, 4, 0, 17) F(KERNEL_BLOCK_Z, OF_KERNEL, 72, 4, 0, 18)                              \
    F(KERNEL_STATIC_SHARED, OF_KERNEL, 76, 4, 0, 19) F(KERNEL_DYNAMIC_SHARED, OF_KERNEL, 80, 4, 0, 20)                 \
    F(KERNEL_CORRELATION, OF_KERNEL, 92, 4, 0, 22) F(KERNEL_NAME, OF_KERNEL, 104, 8, 0, 24)                            \
    F(KERNEL_QUEUED, OF_KERNEL, 120, 8, 0, 25) F(KERNEL_NODE, OF_KERNEL, 144, 8, 0, 31)                                \
    F(KERNEL_GRAPH, OF_KERNEL, 156, 4, 0, 33) F(KERNEL_PRIORITY, OF_KERNEL, 216, 4, 130100, 45)                        \
    F(COPY_KIND, OF_COPY, 4, 1, 0, 1) F(COPY_FROM, OF_COPY, 5, 1, 0, 2) F(COPY_TO, OF_COPY, 6, 1, 0, 3)                \
    F(COPY_BYTES, OF_COPY, 8, 8, 0, 5) F(COPY_START, OF_COPY, 16, 8, 0, 6) F(COPY_END, OF_COPY, 24, 8, 0, 7)           \
    F(COPY_DEVICE, OF_COPY, 32, 4, 0, 8) F(COPY_CONTEXT, OF_COPY, 36, 4, 0, 9) F(COPY_STREAM, OF_COPY, 40, 4, 0, 10)   \
    F(COPY_CORRELATION, OF_COPY, 44, 4, 0, 11) F(COPY_NODE, OF_COPY, 64, 8, 0, 12)                                     \
    F(COPY_GRAPH, OF_COPY, 72, 4, 0, 13)                                                                               \
    F(PEER_KIND, OF_PEER_COPY, 4, 1, 0, 1) F(PEER_FROM, OF_PEER_COPY, 5, 1, 0, 2) F(PEER_TO, OF_PEER_COPY, 6, 1, 0, 3) \
    F(PEER_BYTES, OF_PEER_COPY, 8, 8, 0, 5) F(PEER_START, OF_PEER_COPY, 16, 8, 0, 6)                                   \
    F(PEER_END, OF_PEER_COPY, 24, 8, 0, 7) F(PEER_DEVICE, OF_PEER_COPY, 32, 4, 0, 8)                                   \
    F(PEER_CONTEXT, OF_PEER_COPY, 36, 4, 0, 9) F(PEER_STREAM, OF_PEER_COPY, 40, 4, 0, 10)                              \
    F(PEER_FROM_DEVICE, OF_PEER_COPY, 44, 4, 0, 11) F(PEER_TO_DEVICE, OF_PEER_COPY, 52, 4, 0, 13)                      \
    F(PEER_CORRELATION, OF_PEER_COPY, 60, 4, 0, 15) F(PEER_NODE, OF_PEER_COPY, 72, 8, 0, 16)                           \
    F(PEER_GRAPH, OF_PEER_COPY, 80, 4, 0, 17)                                                                          \
    F(FILL_BYTES, OF_FILL, 8, 8, 0, 2) F(FILL_START, OF_FILL, 16, 8, 0, 3) F(FILL_END, OF_FILL, 24, 8, 0, 4)           \
    F(FILL_DEVICE, OF_FILL, 32, 4, 0, 5) F(FILL_CONTEXT, OF_FILL, 36, 4, 0, 6) F(FILL_STREAM, OF_FILL, 40, 4, 0, 7)    \
    F(FILL_CORRELATION, OF_FILL, 44, 4, 0, 8) F(FILL_MEMORY, OF_FILL, 50, 2, 0, 10)                                    \
    F(FILL_NODE, OF_FILL, 64, 8, 0, 11) F(FILL_GRAPH, OF_FILL, 72, 4, 0, 12)                                           \
    F(CALL_CBID, OF_RUNTIME_CALL, 4, 4, 0, 1) F(CALL_START, OF_RUNTIME_CALL, 8, 8, 0, 2)                               \
    F(CALL_END, OF_RUNTIME_CALL, 16, 8, 0, 3) F(CALL_THREAD, OF_RUNTIME_CALL, 28, 4, 0, 5)                             \
    F(CALL_CORRELATION, OF_RUNTIME_CALL, 32, 4, 0, 6) F(CALL_RESULT, OF_RUNTIME_CALL, 36, 4, 0, 7)                     \
    F(WAIT_TYPE, OF_WAIT, 4, 4, 0, 1) F(WAIT_START, OF_WAIT, 8, 8, 0, 2) F(WAIT_END, OF_WAIT, 16, 8, 0, 3)             \
    F(WAIT_CORRELATION, OF_WAIT, 24, 4, 0, 4) F(WAIT_CONTEXT, OF_WAIT, 28, 4, 0, 5)                                    \
    F(WAIT_STREAM, OF_WAIT, 32, 4, 0, 6) F(WAIT_EVENT, OF_WAIT, 36, 4, 0, 7) F(WAIT_SYNC, OF_WAIT, 40, 8, 26, 8)       \
    F(EVENT_CORRELATION, OF_EVENT, 4, 4, 0, 1) F(EVENT_CONTEXT, OF_EVENT, 8, 4, 0, 2)                                  \
    F(EVENT_STREAM, OF_EVENT, 12, 4, 0, 3) F(EVENT_ID, OF_EVENT, 16, 4, 0, 4) F(EVENT_SYNC, OF_EVENT, 48, 8, 26, 7)    \
    F(COST_KIND, OF_COST, 4, 4, 0, 1) F(COST_OBJECT, OF_COST, 8, 4, 0, -1) F(COST_THREAD, OF_COST, 16, 4, 0, 3)        \
    F(COST_START, OF_COST, 24, 8, 0, 4) F(COST_END, OF_COST, 32, 8, 0, 5) F(COST_CORRELATION, OF_COST, 40, 4, 21, 6)   \
    F(GRAPH_CORRELATION, OF_GRAPH, 4, 4, 0, 1) F(GRAPH_START, OF_GRAPH, 8, 8, 0, 2)                                    \
    F(GRAPH_END, OF_GRAPH, 16, 8, 0, 3) F(GRAPH_DEVICE, OF_GRAPH, 24, 4, 0, 4) F(GRAPH_ID, OF_GRAPH, 28, 4, 0, 5)      \
    F(GRAPH_CONTEXT, OF_GRAPH, 32, 4, 0, 6) F(GRAPH_STREAM, OF_GRAPH, 36, 4, 0, 7)                                     \
    F(MEMORY_OPERATION, OF_MEMORY, 4, 4, 0, 1) F(MEMORY_KIND, OF_MEMORY, 8, 4, 0, 2)                                   \
    F(MEMORY_CORRELATION, OF_MEMORY, 12, 4, 0, 3) F(MEMORY_ADDRESS, OF_MEMORY, 16, 8, 0, 4)                            \
    F(MEMORY_BYTES, OF_MEMORY, 24, 8, 0, 5) F(MEMORY_TIME, OF_MEMORY, 32, 8, 0, 6)                                     \
    F(MEMORY_DEVICE, OF_MEMORY, 52, 4, 0, 8) F(MEMORY_CONTEXT, OF_MEMORY, 56, 4, 0, 9)                                 \
    F(MEMORY_STREAM, OF_MEMORY, 60, 4, 0, 10)                                                                          \
    F(CONTEXT_ID, OF_CONTEXT, 4, 4, 0, 1) F(CONTEXT_DEVICE, OF_CONTEXT, 8, 4, 0, 2)                                    \
    F(CONTEXT_NULL_STREAM, OF_CONTEXT, 14, 2, 0, 4)                                                                    \
    F(STREAM_CONTEXT, OF_STREAM, 4, 4, 0, 1) F(STREAM_ID, OF_STREAM, 8, 4, 0, 2)                                       \
    F(STREAM_PRIORITY, OF_STREAM, 12, 4, 0, 3) F(STREAM_FLAG, OF_STREAM, 16, 4, 0, 4)                                  \
    F(DEVICE_MEMORY, OF_DEVICE, 16, 8, 0, 3) F(DEVICE_WARP, OF_DEVICE, 32, 4, 0, 6)                                    \
    F(DEVICE_SMS, OF_DEVICE, 44, 4, 0, 9) F(DEVICE_WARPS_PER_SM, OF_DEVICE, 52, 4, 0, 11)                              \
    F(DEVICE_MAJOR, OF_DEVICE, 104, 4, 0, 24) F(DEVICE_MINOR, OF_DEVICE, 108, 4, 0, 25)                                \
    F(DEVICE_ID, OF_DEVICE, 112, 4, 0, 26) F(DEVICE_UUID, OF_DEVICE, 120, 16, 0, 28)                                   \
    F(DEVICE_NAME, OF_DEVICE, 136, 8, 0, 29) F(DEVICE_IS_CUDA_VISIBLE, OF_DEVICE, 144, 1, 0, 30)                       \
    F(NODE_STREAM, OF_HOST_NODE, 4, 4, 130100, 1) F(NODE_CONTEXT, OF_HOST_NODE, 8, 4, 130100, 2)                       \
    F(NODE_CORRELATION, OF_HOST_NODE, 16, 4, 130100, 4) F(NODE_GRAPH, OF_HOST_NODE, 20, 4, 130100, 5)                  \
    F(NODE_ID, OF_HOST_NODE, 24, 8, 130100, 6) F(NODE_THREAD, OF_HOST_NODE, 36, 4, 130100, 8)                          \
    F(NODE_START, OF_HOST_NODE, 40, 8, 130100, 9) F(NODE_END, OF_HOST_NODE, 48, 8, 130100, 10)                         \
    F(HOST_STREAM, OF_HOST_LAUNCH, 4, 4, 130100, 1) F(HOST_CONTEXT, OF_HOST_LAUNCH, 8, 4, 130100, 2)                   \
    F(HOST_CORRELATION, OF_HOST_LAUNCH, 16, 4, 130100, 4) F(HOST_THREAD, OF_HOST_LAUNCH, 24, 4, 130100, 6)             \
    F(HOST_START, OF_HOST_LAUNCH, 32, 8, 130100, 7) F(HOST_END, OF_HOST_LAUNCH, 40, 8, 130100, 8)

/* clang-format on */

typedef enum {
#define F(name, kind, offset, bytes, since, number) name,
    FIELDS(F)
#undef F
        HU_CUPTI_FIELDS,
} hu_cupti_field;

typedef struct {
    uint16_t offset;
    uint8_t  bytes; /* 0: not there */
} hu_cupti_place;

extern hu_cupti_place hu_cupti_places[HU_CUPTI_FIELDS];

/* Of the second interface: what CUPTI says of the records in a buffer. */
typedef struct {
    size_t struct_bytes;
    int    field;
    size_t offset, bytes, alignment;
} hu_cupti_entry;

typedef struct hu_cupti_layout {
    size_t          struct_bytes;
    hu_cupti_entry *entries;
    size_t          n_entries, record_bytes;
} hu_cupti_layout;

void   hu_cupti_use_version(uint32_t version);               /* places of the first interface */
size_t hu_cupti_choose(int kind, int *numbers, size_t room); /* of all fields of a kind; the first is the kind */
void   hu_cupti_use_layout(uint32_t kind, const hu_cupti_layout *layout); /* places of the second one */

static inline bool hu_cupti_has(hu_cupti_field f)
{
    return hu_cupti_places[f].bytes > 0;
}

/* Of a field that is a number.  Little-endian, as all that CUPTI runs on. */
static inline uint64_t hu_cupti_get(const uint8_t *record, hu_cupti_field f)
{
    const hu_cupti_place place = hu_cupti_places[f];
    uint64_t             value = 0;
    uint32_t             word;

    if (place.bytes == 4) {
        memcpy(&word, record + place.offset, sizeof word);
        return word;
    }
    memcpy(&value, record + place.offset, place.bytes);
    return value;
}

/* Of a field that is `n` bytes.  False: it is not there, and `out` as it was. */
static inline bool hu_cupti_get_bytes(const uint8_t *record, hu_cupti_field f, uint8_t *out, size_t n)
{
    if (hu_cupti_places[f].bytes != n)
        return false;
    memcpy(out, record + hu_cupti_places[f].offset, n);
    return true;
}

#endif
