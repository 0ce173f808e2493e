/* SPDX-License-Identifier: Apache-2.0
 * nccl_layouts.c - where the six versions of NCCL's profiler interface put what they say.
 *
 * An event is described by its type (one byte up to version 4, then eight), its parent at 8, the rank at 16, and from 24 on
 * by what its kind needs.  These are facts of a public interface, kept as tables: nothing here is NCCL's text.
 */
#include "inject/nccl.h"

#include <string.h>

#include "inject/ring.h"
#include "base/banned.h"

#define P(field, form, at)                             \
    {                                                  \
        HU_NCCL_FIELD_##field, HU_NCCL_IN_##form, (at) \
    }
#define FUNCTION(form, at)                        \
    {                                             \
        HU_NCCL_NO_FIELD, HU_NCCL_IN_##form, (at) \
    }
#define LAYOUT(places)                              \
    {                                               \
        (places), sizeof(places) / sizeof *(places) \
    }

/* clang-format off */
static const hu_nccl_place coll_1[] = {
    FUNCTION(FUNCTION8, 48), P(SEQUENCE, U64, 40), P(SEND_BUFFER, U64, 56), P(RECV_BUFFER, U64, 64), P(COUNT, U64, 72),
    P(ROOT, I32, 80), P(DATATYPE, DATATYPE8, 84), P(OPERATOR, I32, 88), P(TRAFFIC_BYTES, U64, 96), P(CHANNELS, U8, 104),
    P(WARPS, U8, 105), P(ALGORITHM, ALGORITHM8, 106), P(PROTOCOL, PROTOCOL8, 107), P(COLLNET, I32, 108), P(NVLS, I32, 112),
};
static const hu_nccl_place coll_2[] = {
    FUNCTION(TEXT, 48), P(SEQUENCE, U64, 40), P(SEND_BUFFER, U64, 56), P(RECV_BUFFER, U64, 64), P(COUNT, U64, 72),
    P(ROOT, I32, 80), P(DATATYPE, TEXT, 88), P(TRAFFIC_BYTES, U64, 96), P(CHANNELS, U8, 104), P(WARPS, U8, 105),
    P(ALGORITHM, TEXT, 112), P(PROTOCOL, TEXT, 120),
};
static const hu_nccl_place coll_3[] = {
    FUNCTION(TEXT, 48), P(SEQUENCE, U64, 40), P(SEND_BUFFER, U64, 56), P(RECV_BUFFER, U64, 64), P(COUNT, U64, 72),
    P(ROOT, I32, 80), P(DATATYPE, TEXT, 88), P(CHANNELS, U8, 96), P(WARPS, U8, 97), P(ALGORITHM, TEXT, 104),
    P(PROTOCOL, TEXT, 112),
};
/* version 5 adds the group behind what version 4 has */
static const hu_nccl_place coll_5[] = {
    FUNCTION(TEXT, 32), P(SEQUENCE, U64, 24), P(SEND_BUFFER, U64, 40), P(RECV_BUFFER, U64, 48), P(COUNT, U64, 56),
    P(ROOT, I32, 64), P(DATATYPE, TEXT, 72), P(CHANNELS, U8, 80), P(WARPS, U8, 81), P(ALGORITHM, TEXT, 88),
    P(PROTOCOL, TEXT, 96), P(PARENT_GROUP, U64, 104),
};
static const hu_nccl_place p2p_1[] = {
    FUNCTION(FUNCTION8, 40), P(BUFFER, U64, 48), P(DATATYPE, DATATYPE8, 56), P(COUNT, U64, 64), P(PEER, I32, 72),
};
static const hu_nccl_place p2p_2[] = {
    FUNCTION(TEXT, 40), P(BUFFER, U64, 48), P(DATATYPE, TEXT, 56), P(COUNT, U64, 64), P(PEER, I32, 72),
};
static const hu_nccl_place p2p_5[] = {
    FUNCTION(TEXT, 24), P(BUFFER, U64, 32), P(DATATYPE, TEXT, 40), P(COUNT, U64, 48), P(PEER, I32, 56), P(CHANNELS, U8, 60),
    P(PARENT_GROUP, U64, 64),
};
static const hu_nccl_place proxy_op[] = {
    P(PID, I32, 24), P(CHANNEL, U8, 28), P(PEER, I32, 32), P(STEPS, I32, 36), P(CHUNK_BYTES, I32, 40), P(IS_SEND, I32, 44),
};
static const hu_nccl_place proxy_step[] = {P(STEP, I32, 24)};
static const hu_nccl_place kernel_ch[] = {P(CHANNEL, U8, 24), P(DEVICE_TICKS, U64, 32)};
static const hu_nccl_place net[] = {P(NET_ID, U64, 24), P(NET_DATA, U64, 32)};
static const hu_nccl_place group_api[] = {P(CAPTURED, U8, 24), P(DEPTH, I32, 28)};
static const hu_nccl_place coll_api[] = {
    FUNCTION(TEXT, 24), P(COUNT, U64, 32), P(DATATYPE, TEXT, 40), P(ROOT, I32, 48), P(STREAM, U64, 56), P(CAPTURED, U8, 64),
};
static const hu_nccl_place p2p_api[] = {
    FUNCTION(TEXT, 24), P(COUNT, U64, 32), P(DATATYPE, TEXT, 40), P(STREAM, U64, 48), P(CAPTURED, U8, 56),
};
static const hu_nccl_place kernel_launch[] = {P(STREAM, U64, 24)};
static const hu_nccl_place ce_coll[] = {
    FUNCTION(TEXT, 32), P(SEQUENCE, U64, 24), P(SEND_BUFFER, U64, 40), P(RECV_BUFFER, U64, 48), P(COUNT, U64, 56),
    P(ROOT, I32, 64), P(DATATYPE, TEXT, 72), P(STRATEGY, TEXT, 80), P(INTRA_SYNC, U8, 88), P(BATCH, U32, 92),
    P(BATCHES, U32, 96), P(CE_SEQUENCE, U32, 100), P(STREAM, U64, 104),
};
static const hu_nccl_place ce_sync[] = {P(IS_COMPLETE, U8, 24), P(RANKS, I32, 28)};
static const hu_nccl_place ce_batch[] = {P(OPS, U32, 24), P(BYTES, U64, 32), P(INTRA_SYNC, U8, 40)};

static const hu_nccl_place state_proxy_op[] = {P(TRANSFERRED, U64, 0), P(STEPS, I32, 8)};
static const hu_nccl_place state_proxy_step[] = {P(TRANSFERRED, U64, 0)};
static const hu_nccl_place state_proxy_ctrl[] = {P(APPENDED, I32, 0)};
static const hu_nccl_place state_net[] = {P(NET_DATA, U64, 0)};
static const hu_nccl_place state_kernel[] = {P(DEVICE_TICKS, U64, 0)};

static const char *const functions[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send",
                                        "Recv"};
static const char *const datatypes[] = {"ncclInt8", "ncclUint8", "ncclInt32", "ncclUint32", "ncclInt64", "ncclUint64",
                                        "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
static const char *const algorithms[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};
/* clang-format on */

static hu_nccl_layout coll_of(int version)
{
    static const hu_nccl_layout by_version[] = {LAYOUT(coll_1), LAYOUT(coll_2), LAYOUT(coll_3)};
    hu_nccl_layout              last = LAYOUT(coll_5);

    if (version <= 3)
        return by_version[version - 1];
    last.n -= version == 4;
    return last;
}

static hu_nccl_layout p2p_of(int version)
{
    static const hu_nccl_layout first = LAYOUT(p2p_1), second = LAYOUT(p2p_2);
    hu_nccl_layout              last = LAYOUT(p2p_5);

    if (version <= 3)
        return version == 1 ? first : second;
    last.n -= version == 4;
    return last;
}

uint32_t hu_nccl_kinds_of(int version)
{
    static const uint32_t last[] = {HU_NCCL_PROXY_CTRL, HU_NCCL_PROXY_CTRL,    HU_NCCL_NET,
                                    HU_NCCL_NET,        HU_NCCL_KERNEL_LAUNCH, HU_NCCL_CE_BATCH};

    return (2u << last[version - 1]) - 1;
}

/* Of each call there is one of these, whatever else is asked for. */
uint32_t hu_nccl_sentinel_of(int version)
{
    return version <= 4 ? 1u << HU_NCCL_GROUP : 1u << HU_NCCL_GROUP_API;
}

hu_nccl_layout hu_nccl_layout_of(int version, hu_nccl_kind kind)
{
    static const hu_nccl_layout same[HU_NCCL_KIND_COUNT] = {
        [HU_NCCL_PROXY_OP] = LAYOUT(proxy_op),   [HU_NCCL_PROXY_STEP] = LAYOUT(proxy_step),
        [HU_NCCL_KERNEL_CH] = LAYOUT(kernel_ch), [HU_NCCL_NET] = LAYOUT(net),
        [HU_NCCL_GROUP_API] = LAYOUT(group_api), [HU_NCCL_COLL_API] = LAYOUT(coll_api),
        [HU_NCCL_P2P_API] = LAYOUT(p2p_api),     [HU_NCCL_KERNEL_LAUNCH] = LAYOUT(kernel_launch),
        [HU_NCCL_CE_COLL] = LAYOUT(ce_coll),     [HU_NCCL_CE_SYNC] = LAYOUT(ce_sync),
        [HU_NCCL_CE_BATCH] = LAYOUT(ce_batch),
    };
    hu_nccl_layout layout;

    if (kind == HU_NCCL_COLL)
        return coll_of(version);
    if (kind == HU_NCCL_P2P)
        return p2p_of(version);
    layout = same[kind];
    layout.n -= kind == HU_NCCL_KERNEL_CH && version == 3; /* without the device's clock */
    return layout;
}

hu_nccl_layout hu_nccl_state_layout(int version, int state)
{
    enum { LAST_OF_OP = 7, FIRST_OF_CTRL = 13, LAST_OF_CTRL = 18, PEER_WAIT = 20, NET_UPDATE = 21, KERNEL_STOP = 22 };
    static const hu_nccl_layout op = LAYOUT(state_proxy_op), step = LAYOUT(state_proxy_step), none = {0};
    static const hu_nccl_layout ctrl = LAYOUT(state_proxy_ctrl), update = LAYOUT(state_net), kernel = LAYOUT(state_kernel);

    if (state >= FIRST_OF_CTRL && state <= LAST_OF_CTRL)
        return ctrl;
    if (version <= 3)
        return state <= LAST_OF_OP ? op : none;
    if ((state > LAST_OF_OP && state < FIRST_OF_CTRL) || state == PEER_WAIT)
        return step;
    return state == NET_UPDATE ? update : state == KERNEL_STOP ? kernel : none;
}

static uint64_t word(const char *const *words, size_t n, uint8_t number)
{
    return number < n ? hu_string_of(words[number]) : 0;
}

#define WORD(words, at) word(words, sizeof(words) / sizeof *(words), *(const uint8_t *)(at))

uint64_t hu_nccl_value_at(const void *descriptor, const hu_nccl_place *place)
{
    const char *at = (const char *)descriptor + place->at;
    uint64_t    wide;
    uint32_t    whole;
    int32_t     number;
    const char *text;

    switch ((hu_nccl_form)place->form) {
    case HU_NCCL_IN_U8:
        return *(const uint8_t *)at;
    case HU_NCCL_IN_I32:
        memcpy(&number, at, sizeof number);
        return (uint64_t)(int64_t)number;
    case HU_NCCL_IN_U32:
        memcpy(&whole, at, sizeof whole);
        return whole;
    case HU_NCCL_IN_TEXT:
        memcpy(&text, at, sizeof text);
        return hu_string_of(text);
    case HU_NCCL_IN_FUNCTION8:
        return WORD(functions, at);
    case HU_NCCL_IN_DATATYPE8:
        return WORD(datatypes, at);
    case HU_NCCL_IN_ALGORITHM8:
        return WORD(algorithms, at);
    case HU_NCCL_IN_PROTOCOL8:
        return WORD(protocols, at);
    case HU_NCCL_IN_U64:
        break;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}
