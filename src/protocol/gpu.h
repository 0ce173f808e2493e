/* SPDX-License-Identifier: Apache-2.0
 * gpu.h - what CUPTI said, as records of a ring, and how it went, in the head of a ring.
 *
 * A HU_RECORD_GPU is one activity record of CUPTI, written by the thread that decodes them, whoever's it is:
 *
 *     time   ticks of its beginning        a   ticks it took
 *     id     its name                      aux hu_gpu_kind | the number of a call's function << HU_GPU_KIND_BITS
 *     b      its correlation | << 32: the device; of a call, a cost or a host function the thread | its result << 22
 *
 * and behind it, MOREs of their own layout (28 bytes each):
 *
 *     HU_MORE_GPU_PLACE    id stream   a context | graph << 32   b node of the graph   time queued, in ticks (0: not known)
 *     HU_MORE_GPU_LAUNCH   of a kernel: a grid x | y << 32   b grid z | bytes of shared memory << 32
 *                          time block x | y << 16 | z << 32 | registers << 48   id priority (HU_GPU_NO_PRIORITY: not known)
 *     HU_MORE_GPU_BYTES    of a copy, a fill, memory: a bytes   b device it comes from | goes to << 32 (HU_GPU_NONE: none)
 *     HU_MORE_GPU_EVENT    of a wait or the record of an event: a its number   b number of this record of it (0: not known)
 *     HU_MORE_GPU_MEMORY   a address   b hu_gpu_memory | kind of memory << 8
 */
#ifndef HU_PROTOCOL_GPU_H
#define HU_PROTOCOL_GPU_H

#include <stdint.h>

/* clang-format off */
typedef enum {
    HU_GPU_KERNEL, HU_GPU_COPY, HU_GPU_FILL, HU_GPU_GRAPH /* the launch of one, as a whole */,
    HU_GPU_RUNTIME, HU_GPU_DRIVER /* calls */, HU_GPU_WAIT, HU_GPU_EVENT /* recorded on a stream */,
    HU_GPU_COST /* of CUPTI or the driver */, HU_GPU_MEMORY, HU_GPU_CONTEXT, HU_GPU_STREAM,
    HU_GPU_HOST /* a function that a stream called on the host */, HU_GPU_KINDS,
} hu_gpu_kind;

typedef enum { HU_GPU_TAKES = 1, HU_GPU_GIVES_BACK } hu_gpu_memory;

/* Where the door stands; words for the user: cli/gpu_door.c. */
typedef enum {
    HU_CUDA_UNTOUCHED,      /* the driver never called us: CUDA was not initialised */
    HU_CUDA_DISABLED,       /* at the end, CUDA_INJECTION64_PATH named another tool, or nothing */
    HU_CUDA_NO_DRIVER,      /* the CUDA runtime is loaded, and the machine runs no driver */
    HU_CUDA_OLD_DRIVER,     /* ... and the driver is too old for it */
    HU_CUDA_NO_CUPTI,       /* no libcupti was found */
    HU_CUDA_LACKS_FUNCTION, /* it has not all functions that we need */
    HU_CUDA_NO_DEVICE,      /* 15, 999 or no version: CUPTI cannot reach the driver or a device */
    HU_CUDA_TAKEN,          /* 39: another tool has subscribed */
    HU_CUDA_REFUSED,        /* 35, 40: no permission */
    HU_CUDA_FAILED,         /* another code */
    HU_CUDA_READY,          /* attached, and nothing was recorded yet */
    HU_CUDA_RECORDED,       /* kinds were enabled at least once */
    HU_CUDA_STATES,
} hu_cuda_state;
/* clang-format on */

enum {
    HU_GPU_KIND_BITS = 5,
    HU_GPU_TID_BITS = 22,
    HU_GPU_DEVICES_MAX = 16,
    HU_GPU_UUID_BYTES = 16,
    HU_CUDA_TEXT = 200,
    HU_CUDA_WANTS_MEMORY = 1, /* bits of hu_control.cuda: --cuda-memory-usage, */
    HU_CUDA_WHOLE_GRAPHS = 2, /* --cuda-graph-trace=graph */
    HU_CUDA_ONLY_RANGE = 4,   /* --capture-range=cudaProfilerApi */
};

#define HU_GPU_NO_PRIORITY 0x80000000u
#define HU_GPU_NONE        0xffffffffu

typedef struct {
    uint32_t id, sm_count, warp_size, max_threads_per_sm, major, minor;
    uint64_t memory_bytes;
    uint8_t  uuid[HU_GPU_UUID_BYTES]; /* of the board, also where it is divided (MIG); all 0: not known */
    char     name[72];
} hu_gpu_device;

/* In the head of a ring.  Numbers are of records. */
typedef struct {
    uint32_t      state;           /* hu_cuda_state */
    int32_t       code;            /* CUPTI's, of what failed; 0: nothing did */
    uint32_t      version;         /* of CUPTI's interface */
    uint32_t      driver, runtime; /* CUDA's versions, 12040: 12.4; 0: not known */
    uint32_t      tid;             /* the thread that decodes; 0: none */
    uint32_t      shared;          /* 1: another part of the program subscribed to CUPTI before us */
    uint32_t      n_devices;
    uint32_t      hangs; /* 1: at the end CUPTI did not give what it had */
    uint32_t      unused;
    uint64_t      records;      /* that CUPTI gave */
    uint64_t      dropped;      /* that it had no room for, by its own count */
    uint64_t      thrown;       /* in buffers that we had to throw away */
    uint64_t      no_time;      /* begin and end 0: it had no room for time stamps */
    uint64_t      unknown;      /* of kinds that we do not know */
    uint64_t      missed_kinds; /* bits of kinds that it would not enable */
    uint64_t      buffers;
    uint64_t      decoding_ns;           /* CPU time of the thread that decodes */
    uint64_t      yielded;               /* ticks that another one recorded and we did not */
    uint64_t      used;                  /* bits of devices, by their number, on which there was work */
    char          what[64];              /* the function that failed, or is missing */
    char          library[HU_CUDA_TEXT]; /* of CUPTI; "": none */
    char          other[HU_CUDA_TEXT];   /* who else uses CUPTI, or the tool that was loaded first; "": none known */
    hu_gpu_device devices[HU_GPU_DEVICES_MAX];
} hu_cuda_facts;

#endif
