/* SPDX-License-Identifier: Apache-2.0
 * chrome_keys.h - every key of a Chrome trace event that is looked at, with its spellings.
 *
 * One row: the place of the value, and the text as writers spell it.  Several spellings may share a place: tools and
 * years differ (docs/formats/chrome.md).  Places whose value nobody uses are here too, because a key that is known is
 * predicted, and predicting is faster than looking up.
 */
#ifndef HU_INGEST_CHROME_KEYS_H
#define HU_INGEST_CHROME_KEYS_H

/* Members of the event itself. */
#define CHROME_EVENT_KEYS(K) \
    K(PH, "ph")              \
    K(CAT, "cat")            \
    K(NAME, "name")          \
    K(PID, "pid")            \
    K(TID, "tid")            \
    K(TS, "ts")              \
    K(DUR, "dur")            \
    K(ARGS, "args")          \
    K(ID, "id")              \
    K(ID2, "id2")            \
    K(SCOPE, "s")            \
    K(SCOPE, "scope")        \
    K(BIND, "bp")

/* Members of its "args". */
#define CHROME_ARG_KEYS(K)                              \
    K(EXTERNAL_ID, "External id")                       \
    K(EXTERNAL_ID, "external id")                       \
    K(RECORD_FUNCTION_ID, "Record function id")         \
    K(EVENT_INDEX, "Ev Idx")                            \
    K(EVENT_INDEX, "Profiler Event Index")              \
    K(SEQUENCE, "Sequence number")                      \
    K(FORWARD_THREAD, "Fwd thread id")                  \
    K(INPUT_DIMS, "Input Dims")                         \
    K(INPUT_DIMS, "Input dims")                         \
    K(INPUT_TYPES, "Input type")                        \
    K(INPUT_STRIDES, "Input Strides")                   \
    K(CONCRETE_INPUTS, "Concrete Inputs")               \
    K(CALL_STACK, "Call stack")                         \
    K(MODULE_HIERARCHY, "Module Hierarchy")             \
    K(KERNEL_FILE, "kernel_file")                       \
    K(KERNEL_BACKEND, "kernel_backend")                 \
    K(IGNORED, "kernel_hash")                           \
    K(IGNORED, "finished")                              \
    K(IGNORED, "num_warps")                             \
    K(IGNORED, "num_stages")                            \
    K(IGNORED, "kernel_kwargs")                         \
    K(IGNORED, "Input names")                           \
    K(IGNORED, "Output dims")                           \
    K(IGNORED, "Output type")                           \
    K(IGNORED, "Output names")                          \
    K(IGNORED, "Extra arguments")                       \
    K(IGNORED, "Trace name")                            \
    K(IGNORED, "Trace iteration")                       \
    K(IGNORED, "Device")                                \
    K(IGNORED, "external ts")                           \
    K(CORRELATION, "correlation")                       \
    K(XLA_CORRELATION, "correlation_id")                \
    K(STEP_NUMBER, "step_num")                          \
    K(DEVICE, "device")                                 \
    K(CONTEXT, "context")                               \
    K(STREAM, "stream")                                 \
    K(STREAM, "stream_id")                              \
    K(QUEUE, "hsa_queue")                               \
    K(QUEUED, "queued")                                 \
    K(REGISTERS, "registers per thread")                \
    K(SHARED_MEMORY, "shared memory")                   \
    K(BLOCKS_PER_SM, "blocks per SM")                   \
    K(WARPS_PER_SM, "warps per SM")                     \
    K(GRID, "grid")                                     \
    K(BLOCK, "block")                                   \
    K(OCCUPANCY, "est. achieved occupancy %")           \
    K(GRAPH_ID, "graph id")                             \
    K(GRAPH_NODE_ID, "graph node id")                   \
    K(PRIORITY, "priority")                             \
    K(IGNORED, "channel")                               \
    K(IGNORED, "channel_type")                          \
    K(IGNORED, "occupancy")                             \
    K(KIND, "kind")                                     \
    K(BYTES, "bytes")                                   \
    K(BYTES, "size")                                    \
    K(BANDWIDTH, "memory bandwidth (GB/s)")             \
    K(FROM_DEVICE, "fromDevice")                        \
    K(IN_DEVICE, "inDevice")                            \
    K(TO_DEVICE, "toDevice")                            \
    K(IGNORED, "fromContext")                           \
    K(IGNORED, "inContext")                             \
    K(IGNORED, "toContext")                             \
    K(CALLBACK_ID, "cbid")                              \
    K(CALLBACK_ID, "cid")                               \
    K(IGNORED, "kernel")                                \
    K(IGNORED, "ptr")                                   \
    K(IGNORED, "src")                                   \
    K(IGNORED, "dst")                                   \
    K(SYNC_KIND, "cuda_sync_kind")                      \
    K(WAIT_STREAM, "wait_on_stream")                    \
    K(WAIT_RECORD, "wait_on_cuda_event_record_corr_id") \
    K(WAIT_EVENT, "wait_on_cuda_event_id")              \
    K(PYTHON_ID, "Python id")                           \
    K(PYTHON_PARENT, "Python parent id")                \
    K(PYTHON_MODULE, "Python module id")                \
    K(IGNORED, "Python thread")                         \
    K(DEVICE_TYPE, "Device Type")                       \
    K(DEVICE_ID, "Device Id")                           \
    K(ADDRESS, "Addr")                                  \
    K(ALLOC_BYTES, "Bytes")                             \
    K(TOTAL_ALLOCATED, "Total Allocated")               \
    K(TOTAL_RESERVED, "Total Reserved")                 \
    K(COLLECTIVE, "Collective name")                    \
    K(DTYPE, "dtype")                                   \
    K(IN_ELEMENTS, "In msg nelems")                     \
    K(OUT_ELEMENTS, "Out msg nelems")                   \
    K(GROUP_SIZE, "Group size")                         \
    K(IN_SPLIT, "In split size")                        \
    K(OUT_SPLIT, "Out split size")                      \
    K(GROUP_NAME, "Process Group Name")                 \
    K(GROUP_NAME, "Process Group ID")                   \
    K(GROUP_DESCRIPTION, "Process Group Description")   \
    K(GROUP_RANKS, "Process Group Ranks")               \
    K(SOURCE_RANK, "Src Rank")                          \
    K(TARGET_RANK, "Dst Rank")                          \
    K(COMM_SEQUENCE, "Seq")                             \
    K(COMM_ID, "Comms Id")                              \
    K(RANK_START, "Global rank start")                  \
    K(RANK_STRIDE, "Global rank stride")                \
    K(IS_ASYNC, "Is asynchronized op")                  \
    K(RECORDED, "recorded")                             \
    K(NCCL_COMM, "NCCL communicator ID")                \
    K(NCCL_BYTES, "Message size [bytes]")               \
    K(NCCL_PEER, "Peer rank")                           \
    K(NCCL_ROOT, "Root")                                \
    K(NCCL_RANKS, "No. of ranks")                       \
    K(CLASS, "class")                                   \
    K(PATH, "path")                                     \
    K(COMM, "comm")                                     \
    K(PEER, "peer")                                     \
    K(SOURCE, "source")                                 \
    K(ROOT, "root")                                     \
    K(TAG, "tag")                                       \
    K(COUNT, "count")                                   \
    K(CALLS, "calls")                                   \
    K(OBJECT, "object")                                 \
    K(OBJECT_NAME, "object_name")                       \
    K(MUTEX, "mutex")                                   \
    K(CALLER, "caller")                                 \
    K(HOLDER, "holder")                                 \
    K(HOW, "how")                                       \
    K(ERROR, "error")                                   \
    K(UNFINISHED, "unfinished")                         \
    K(FD, "fd")                                         \
    K(REGION, "region")                                 \
    K(THREADS, "threads")                               \
    K(WORK_NS, "work_ns")                               \
    K(PLACE, "place")                                   \
    K(WORKSHARING, "worksharing")                       \
    K(LINE, "line")                                     \
    K(IGNORED, "Rank")                                  \
    K(ARG_NAME, "name")                                 \
    K(LABELS, "labels")                                 \
    K(IGNORED, "sort_index")                            \
    K(IGNORED, "Op count")

#endif
