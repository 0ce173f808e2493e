/* SPDX-License-Identifier: Apache-2.0
 * nccl_events.h - what NCCL tells a profiler, and how it lies in a ring.
 *
 *     HU_RECORD_NCCL   aux = hu_nccl_kind, time = when it began, a = ticks until it was stopped, id = the function,
 *                      b = its number: the same never twice in a process, and nothing that points anywhere
 *                      aux = HU_NCCL_STATE: a change of the event whose number is a; b = the new state
 *         MORE         aux = HU_MORE_NCCL, up to three fields: ids of hu_nccl_field in the bytes of `id`, from the low one
 *                      (0: none); their values in time, a and b
 *
 * A communicator is a text, so that it survives whatever a flight recorder overwrites:
 *
 *     HASH TAB RANK TAB RANKS TAB NODES TAB NAME      hash in hex, the others decimal, -1: NCCL did not say
 *
 * Kinds and states are numbered as NCCL numbers them (bits of its mask; facts of its public interface, versions 1 to 6).
 */
#ifndef HU_PROTOCOL_NCCL_EVENTS_H
#define HU_PROTOCOL_NCCL_EVENTS_H

/* clang-format off */
#define HU_NCCL_KINDS(K)                                                                                              \
    K(GROUP, "group") K(COLL, "coll") K(P2P, "p2p") K(PROXY_OP, "proxyop") K(PROXY_STEP, "proxystep")                 \
    K(PROXY_CTRL, "proxyctrl") K(KERNEL_CH, "kernelch") K(NET, "netplugin") K(GROUP_API, "groupapi")                  \
    K(COLL_API, "collapi") K(P2P_API, "p2papi") K(KERNEL_LAUNCH, "kernellaunch") K(CE_COLL, "cecoll")                 \
    K(CE_SYNC, "cesync") K(CE_BATCH, "cebatch")

typedef enum {
#define K(id, word) HU_NCCL_##id,
    HU_NCCL_KINDS(K)
#undef K
    HU_NCCL_KIND_COUNT,
    HU_NCCL_STATE = 31,
} hu_nccl_kind;

/* By the number of the state: 0, 1, ... */
#define HU_NCCL_STATES(S)                                                                                             \
    S("send posted") S("waits for credits") S("sent") S("send done") S("receive posted") S("received")                \
    S("passed on") S("receive done") S("waits for the GPU to send") S("sends") S("receives") S("flushes")             \
    S("waits for the GPU to take") S("idle") S("active") S("sleeps") S("wakes up") S("appends") S("has appended")     \
    S("in progress") S("waits for the peer") S("network update") S("kernel stop") S("group start ends")               \
    S("group end starts") S("copies start") S("copies done") S("sync starts") S("sync done") S("batch starts")        \
    S("batch done")

/* What a value is: a number, a number with a sign, a text's id, an address. */
typedef enum { HU_NCCL_UINT, HU_NCCL_INT, HU_NCCL_TEXT, HU_NCCL_ADDRESS } hu_nccl_value;

#define HU_NCCL_FIELDS(F)                                                                                             \
    F(COMM, "comm", TEXT) F(PARENT, "parent", UINT) F(PARENT_GROUP, "parent_group", UINT) F(SEQUENCE, "seq", UINT)    \
    F(COUNT, "count", UINT) F(DATATYPE, "datatype", TEXT) F(ROOT, "root", INT) F(PEER, "peer", INT)                   \
    F(CHANNELS, "channels", UINT) F(WARPS, "warps", UINT) F(ALGORITHM, "algorithm", TEXT)                             \
    F(PROTOCOL, "protocol", TEXT) F(SEND_BUFFER, "send_buffer", ADDRESS) F(RECV_BUFFER, "recv_buffer", ADDRESS)       \
    F(BUFFER, "buffer", ADDRESS) F(TRAFFIC_BYTES, "traffic_bytes", UINT) F(STREAM, "cuda_stream", ADDRESS)                 \
    F(CAPTURED, "graph_captured", UINT) F(DEPTH, "group_depth", INT) F(PID, "pid", INT) F(CHANNEL, "channel", UINT)   \
    F(STEPS, "steps", INT) F(CHUNK_BYTES, "chunk_bytes", INT) F(IS_SEND, "is_send", INT) F(STEP, "step", INT)         \
    F(DEVICE_TICKS, "device_ticks", UINT) F(NET_ID, "net_id", INT) F(NET_DATA, "net_data", ADDRESS)                   \
    F(STRATEGY, "sync_strategy", TEXT) F(INTRA_SYNC, "intra_batch_sync", UINT) F(BATCH, "batch_size", UINT)           \
    F(BATCHES, "batches", UINT) F(CE_SEQUENCE, "ce_seq", UINT) F(IS_COMPLETE, "is_complete", UINT)                    \
    F(RANKS, "ranks", INT) F(OPS, "ops", UINT) F(BYTES, "total_bytes", UINT) F(TRANSFERRED, "transferred_bytes", UINT) \
    F(APPENDED, "appended_ops", INT) F(OPERATOR, "op", INT) F(COLLNET, "collnet", INT) F(NVLS, "nvls", INT)           \
    F(ELSEWHERE, "began_in_thread", UINT)
/* clang-format on */

typedef enum {
    HU_NCCL_NO_FIELD,
#define F(id, key, type) HU_NCCL_FIELD_##id,
    HU_NCCL_FIELDS(F)
#undef F
        HU_NCCL_FIELD_END
} hu_nccl_field;

enum { HU_NCCL_FIELDS_IN_MORE = 3, HU_NCCL_FIELDS_MOST = 20 /* of one event */ };

/* What is recorded unless the user says otherwise: calls, and what NCCL made of them; nothing that its proxy threads do,
 * and no times of kernels, which cost 4 to 13 % of a small all-reduce. */
enum {
    HU_NCCL_DEFAULT = 1 << HU_NCCL_GROUP_API | 1 << HU_NCCL_COLL_API | 1 << HU_NCCL_P2P_API | 1 << HU_NCCL_KERNEL_LAUNCH |
                      1 << HU_NCCL_COLL | 1 << HU_NCCL_P2P | 1 << HU_NCCL_CE_COLL,
    HU_NCCL_ALL = (1 << HU_NCCL_KIND_COUNT) - 1,
};

#endif
