/* SPDX-License-Identifier: Apache-2.0
 * perfetto.h - field numbers of the messages in a .pftrace, for what reads one and what writes one.
 *
 * From google/perfetto, protos/perfetto/trace/ (trace_packet.proto and what it includes); each enum is one message, named
 * above it.  HU_PT_MESSAGE_FIELD.
 */
#ifndef HU_PROTOCOL_PERFETTO_H
#define HU_PROTOCOL_PERFETTO_H

/* clang-format off */
enum { HU_PT_TRACE_PACKET = 1 };                                            /* Trace */

enum {                                                                      /* TracePacket */
    HU_PT_PACKET_CLOCK_SNAPSHOT = 6, HU_PT_PACKET_TIMESTAMP = 8, HU_PT_PACKET_SEQUENCE = 10, HU_PT_PACKET_EVENT = 11,
    HU_PT_PACKET_INTERNED = 12, HU_PT_PACKET_FLAGS = 13, HU_PT_PACKET_OLD_CLEARED = 41, HU_PT_PACKET_DROPPED = 42,
    HU_PT_PACKET_COMPRESSED = 50, HU_PT_PACKET_GPU_COUNTERS = 52, HU_PT_PACKET_GPU_STAGE = 53, HU_PT_PACKET_CLOCK = 58,
    HU_PT_PACKET_DEFAULTS = 59, HU_PT_PACKET_TRACK = 60, HU_PT_PACKET_SAMPLE = 66, HU_PT_PACKET_FIRST = 87,
    HU_PT_PACKET_TASK = 117, HU_PT_PACKET_TREE = 122, HU_PT_PACKET_ATTRIBUTES = 126, HU_PT_PACKET_GPU_INFO = 128,
    HU_PT_PACKET_ZSTD = 133,
};
enum { HU_PT_FLAG_CLEARED = 1, HU_PT_FLAG_NEEDS_STATE = 2 };                /* bits of its sequence_flags */
enum { HU_PT_DEFAULTS_EVENT = 11, HU_PT_DEFAULTS_SAMPLE = 12, HU_PT_DEFAULTS_CLOCK = 58 };     /* TracePacketDefaults */
enum { HU_PT_EVENT_DEFAULTS_TRACK = 11 };                                   /* TrackEventDefaults */

enum { HU_PT_SNAPSHOT_CLOCK = 1, HU_PT_SNAPSHOT_PRIMARY = 2 };              /* ClockSnapshot */
enum { HU_PT_CLOCK_ID = 1, HU_PT_CLOCK_TIME = 2, HU_PT_CLOCK_INCREMENTAL = 3, HU_PT_CLOCK_UNIT = 4 };    /* its Clock */
enum {                                                                      /* BuiltinClock, and where own numbers lie */
    HU_PT_REALTIME = 1, HU_PT_MONOTONIC = 3, HU_PT_BOOTTIME = 6, HU_PT_FIRST_OWN_CLOCK = 64, HU_PT_LAST_OWN_CLOCK = 127,
};

enum {                                                                      /* TrackEvent */
    HU_PT_EVENT_CATEGORY_IID = 3, HU_PT_EVENT_NOTE = 4, HU_PT_EVENT_LEGACY = 6, HU_PT_EVENT_TYPE = 9,
    HU_PT_EVENT_NAME_IID = 10, HU_PT_EVENT_TRACK = 11, HU_PT_EVENT_CATEGORY = 22, HU_PT_EVENT_NAME = 23,
    HU_PT_EVENT_COUNTER = 30, HU_PT_EVENT_COUNTER_DOUBLE = 44, HU_PT_EVENT_FLOW = 47, HU_PT_EVENT_FLOW_END = 48,
    HU_PT_EVENT_CORRELATION = 52, HU_PT_EVENT_GPU = 3000,
};
typedef enum {                                                              /* its Type */
    HU_PT_TYPE_BEGIN = 1, HU_PT_TYPE_END = 2, HU_PT_TYPE_INSTANT = 3, HU_PT_TYPE_COUNTER = 4,
} hu_pt_type;
enum { HU_PT_LEGACY_NAME_IID = 1, HU_PT_LEGACY_PHASE = 2, HU_PT_LEGACY_DURATION = 3 };          /* its LegacyEvent */

enum {                                                                      /* DebugAnnotation */
    HU_PT_NOTE_NAME_IID = 1, HU_PT_NOTE_BOOL = 2, HU_PT_NOTE_UINT = 3, HU_PT_NOTE_INT = 4, HU_PT_NOTE_DOUBLE = 5,
    HU_PT_NOTE_TEXT = 6, HU_PT_NOTE_POINTER = 7, HU_PT_NOTE_NAME = 10, HU_PT_NOTE_DICT = 11, HU_PT_NOTE_ARRAY = 12,
    HU_PT_NOTE_TEXT_IID = 17,
};

typedef enum {                                                              /* InternedData */
    HU_PT_INTERNED_CATEGORY = 1, HU_PT_INTERNED_EVENT_NAME = 2, HU_PT_INTERNED_NOTE_NAME = 3,
    HU_PT_INTERNED_FUNCTION = 5, HU_PT_INTERNED_FRAME = 6, HU_PT_INTERNED_STACK = 7, HU_PT_INTERNED_BUILD_ID = 16,
    HU_PT_INTERNED_PATH = 17, HU_PT_INTERNED_MAPPING = 19, HU_PT_INTERNED_CONTEXT = 23,
    HU_PT_INTERNED_GPU_SPECIFICATION = 24, HU_PT_INTERNED_TEXT = 29, HU_PT_INTERNED_KERNEL = 1000,
    HU_PT_INTERNED_KERNEL_ARG_NAME = 1001,
} hu_pt_interned;
enum { HU_PT_ENTRY_IID = 1, HU_PT_ENTRY_TEXT = 2 };                         /* what most of its members begin with */

enum {                                                                      /* TrackDescriptor */
    HU_PT_TRACK_UUID = 1, HU_PT_TRACK_NAME = 2, HU_PT_TRACK_PROCESS = 3, HU_PT_TRACK_THREAD = 4, HU_PT_TRACK_PARENT = 5,
    HU_PT_TRACK_COUNTER = 8, HU_PT_TRACK_STATIC_NAME = 10, HU_PT_TRACK_ORDERING = 11, HU_PT_TRACK_RANK = 12,
    HU_PT_TRACK_DESCRIPTION = 14, HU_PT_TRACK_MERGE = 15,
};
enum { HU_PT_ORDERING_EXPLICIT = 3 };                                       /* its ChildTracksOrdering */
enum { HU_PT_MERGE_BY_NAME = 1, HU_PT_MERGE_NONE = 2 };                     /* its SiblingMergeBehavior */
enum {                                                                      /* ProcessDescriptor */
    HU_PT_PROCESS_PID = 1, HU_PT_PROCESS_COMMAND = 2, HU_PT_PROCESS_SORT = 3, HU_PT_PROCESS_NAME = 6,
    HU_PT_PROCESS_START = 7, HU_PT_PROCESS_LABEL = 8,
};
enum { HU_PT_THREAD_PID = 1, HU_PT_THREAD_TID = 2, HU_PT_THREAD_NAME = 5 }; /* ThreadDescriptor */
enum {                                                                      /* CounterDescriptor */
    HU_PT_COUNTER_UNIT = 3, HU_PT_COUNTER_MULTIPLIER = 4, HU_PT_COUNTER_INCREMENTAL = 5, HU_PT_COUNTER_UNIT_NAME = 6,
};
enum { HU_PT_UNIT_COUNT = 2, HU_PT_UNIT_BYTES = 3 };                        /* its Unit */

enum {                                                                      /* PerfSample */
    HU_PT_SAMPLE_CPU = 1, HU_PT_SAMPLE_PID = 2, HU_PT_SAMPLE_TID = 3, HU_PT_SAMPLE_STACK = 4, HU_PT_SAMPLE_MODE = 5,
    HU_PT_SAMPLE_LOST = 17, HU_PT_SAMPLE_SKIPPED = 18,
};
enum { HU_PT_MODE_KERNEL = 1, HU_PT_MODE_USER = 2 };                        /* Profiling.CpuMode */
enum { HU_PT_SAMPLE_DEFAULTS_TIMEBASE = 1 };                                /* PerfSampleDefaults */
enum {                                                                      /* PerfEvents.Timebase */
    HU_PT_TIMEBASE_PERIOD = 1, HU_PT_TIMEBASE_FREQUENCY = 2, HU_PT_TIMEBASE_COUNTER = 4, HU_PT_TIMEBASE_CLOCK = 11,
};
enum { HU_PT_COUNTER_CPU_CLOCK = 1, HU_PT_COUNTER_TASK_CLOCK = 3 };         /* PerfEvents.Counter */
enum { HU_PT_PERF_CLOCK_MONOTONIC = 2 };                                    /* PerfEvents.PerfClock */
enum {                                                                      /* Mapping */
    HU_PT_MAPPING_BUILD_ID = 2, HU_PT_MAPPING_START = 4, HU_PT_MAPPING_END = 5, HU_PT_MAPPING_PATH = 7,
    HU_PT_MAPPING_OFFSET = 8,
};
enum { HU_PT_FRAME_FUNCTION = 2, HU_PT_FRAME_MAPPING = 3, HU_PT_FRAME_REL_PC = 4 };     /* Frame */
enum { HU_PT_STACK_FRAMES = 2 };                                            /* Callstack */

enum { HU_PT_TASK_CPU = 1, HU_PT_TASK_NAME = 2, HU_PT_TASK_TID = 3, HU_PT_TASK_STATE = 4 }; /* GenericKernelTaskStateEvent */
enum {                                                                      /* its TaskStateEnum */
    HU_PT_STATE_UNKNOWN = 0, HU_PT_STATE_CREATED = 1, HU_PT_STATE_RUNNABLE = 2, HU_PT_STATE_RUNNING = 3,
    HU_PT_STATE_SLEEPING = 4, HU_PT_STATE_DISK_SLEEP = 5, HU_PT_STATE_STOPPED = 6, HU_PT_STATE_DEAD = 7,
};
enum { HU_PT_TREE_PROCESS = 1, HU_PT_TREE_THREAD = 2 };                     /* GenericKernelProcessTree */
enum { HU_PT_TREE_PROCESS_PID = 1, HU_PT_TREE_PROCESS_PARENT = 2, HU_PT_TREE_PROCESS_COMMAND = 3 };    /* its Process */
enum {                                                                      /* its Thread */
    HU_PT_TREE_THREAD_TID = 1, HU_PT_TREE_THREAD_PID = 2, HU_PT_TREE_THREAD_NAME = 3, HU_PT_TREE_THREAD_IS_MAIN = 4,
};

enum { HU_PT_ATTRIBUTES_ATTRIBUTE = 1 };                                    /* TraceAttributes */
enum { HU_PT_ATTRIBUTE_KEY = 1, HU_PT_ATTRIBUTE_WHOLE = 2, HU_PT_ATTRIBUTE_TEXT = 3 };  /* its Attribute */

enum { HU_PT_GPU_INFO_GPU = 1 };                                            /* GpuInfo */
enum { HU_PT_GPU_NAME = 1, HU_PT_GPU_EXTRA = 6 };                           /* its Gpu */
enum { HU_PT_EXTRA_KEY = 1, HU_PT_EXTRA_VALUE = 2 };                        /* its KeyValue */
enum {                                                                      /* GpuRenderStageEvent */
    HU_PT_STAGE_ID = 1, HU_PT_STAGE_DURATION = 2, HU_PT_STAGE_CONTEXT = 5, HU_PT_STAGE_EXTRA = 6, HU_PT_STAGE_GPU = 11,
    HU_PT_STAGE_QUEUE_IID = 13, HU_PT_STAGE_IID = 14, HU_PT_STAGE_NAME = 17, HU_PT_STAGE_KERNEL = 19,
    HU_PT_STAGE_NAME_IID = 20, HU_PT_STAGE_LAUNCH = 21,
};
enum { HU_PT_LAUNCH_GRID = 1, HU_PT_LAUNCH_BLOCK = 2, HU_PT_LAUNCH_ARG = 3 };           /* its ComputeKernelLaunch */
enum {                                                                      /* its ComputeArg */
    HU_PT_ARG_NAME_IID = 1, HU_PT_ARG_NAME = 2, HU_PT_ARG_INT = 3, HU_PT_ARG_UINT = 4, HU_PT_ARG_DOUBLE = 5,
    HU_PT_ARG_TEXT = 6, HU_PT_ARG_TEXT_IID = 7,
};
/* clang-format on */

#endif
