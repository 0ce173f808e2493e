/* SPDX-License-Identifier: Apache-2.0
 * details.h - what a slice carries beyond its time, by kind; one row in a side table, found by the slice's `detail`.
 *
 * Strings are ids of the trace's string table, 0 when absent.  Numbers say in their comment how absence looks.
 */
#ifndef HU_TRACE_DETAILS_H
#define HU_TRACE_DETAILS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t dims, types, strides, concrete; /* JSON text as recorded */
    int32_t  sequence;                       /* autograd sequence number; -1 absent */
    uint32_t forward_thread;                 /* != 0 on backward operators */
    uint32_t extra;                          /* 1 + row of hu_op_extra; 0 none */
} hu_op_detail;

/* What few operators have. */
typedef struct {
    uint32_t stack, module; /* "Call stack", "Module Hierarchy" */
    uint32_t backend, file; /* of a generated kernel */
    uint32_t collective;    /* 1 + row of hu_collective_detail; 0 none */
    int32_t  stream;        /* that a generated kernel is launched on; -1 absent */
} hu_op_extra;

typedef struct {
    uint32_t grid[3];                     /* blocks; 0 absent */
    uint16_t block[3];                    /* threads; 0 absent */
    uint16_t registers;                   /* per thread; 0 absent */
    uint32_t shared_bytes;                /* static + dynamic */
    float    blocks_per_sm, warps_per_sm; /* NaN absent */
    float    occupancy_pct;               /* estimated achieved occupancy; NaN absent */
    uint32_t graph, graph_node;           /* 0 outside graphs */
    int32_t  priority;                    /* of the stream; INT32_MIN absent */
    uint32_t context;
    uint32_t collective; /* 1 + row of hu_collective_detail; 0 none */
} hu_kernel_detail;

typedef struct {
    int64_t  bytes;                  /* -1 absent */
    double   gbps;                   /* 1e9 bytes per second as recorded; NaN absent */
    int32_t  from_device, to_device; /* peer copies; -1 absent */
    uint32_t graph, graph_node;      /* 0 outside graphs */
} hu_copy_detail;

/* ROCm records launch geometry on the call, not on the kernel. */
typedef struct {
    uint32_t grid[3];
    uint16_t block[3];
    uint32_t shared_bytes;
} hu_geometry;

typedef struct {
    int32_t  callback_id; /* cbid or cid; -1 absent */
    uint32_t geometry;    /* 1 + row of hu_geometry; 0 none */
    int64_t  bytes;       /* of a copy or an allocation; -1 absent */
} hu_call_detail;

typedef struct {
    int64_t wait_stream, wait_event, wait_record; /* -1 absent */
    int64_t stream;                               /* -1 none; profilers also write 2^32 - 1 for it */
} hu_sync_detail;

typedef struct {
    uint32_t id, parent, module; /* 0 absent */
} hu_python_detail;

typedef struct {
    int64_t  bytes;    /* that were moved; -1 absent */
    uint32_t path;     /* of the file, or the peer's address */
    uint32_t calls;    /* that the slice stands for, one behind the other; 0: one */
    uint32_t wait;     /* 1 + row of hu_wait_detail; 0 none */
    uint8_t class;     /* hu_host_class */
    bool is_timed_out; /* a wait that nobody ended in time */
    bool is_outside;   /* it was seen waiting in it from outside; nothing inside of the program recorded it */
} hu_os_detail;

/* What a call waited for, and from where it was called. */
typedef struct {
    uint32_t object; /* string id: the object's address, as recorded; the same text for the same object of a process */
    uint32_t mutex;  /* the same, of the mutex that belongs to a condition */
    uint32_t name;   /* of a global or static object */
    uint32_t caller; /* function that called */
    int64_t  holder; /* thread id of who had the lock last; 0 unknown */
    int32_t  error;  /* errno, when the call failed */
    bool     is_unfinished;
} hu_wait_detail;

/* A thread may have woken others that waited for an object. */
typedef struct {
    int64_t  time_ns;
    uint32_t track;        /* of the thread that did it */
    uint32_t object, name; /* as of hu_wait_detail */
    uint32_t caller;
    uint8_t  how; /* hu_wakeup_how */
} hu_wakeup;

typedef struct {
    int64_t  bytes;      /* -1 absent */
    uint32_t comm;       /* the communicator: the same text on all its ranks */
    int32_t  peer, root; /* ranks of the communicator; -1 absent */
    int32_t  tag;        /* INT32_MIN absent */
} hu_mpi_detail;

/* What the time of a host's slice with a collective says, where NCCL itself told of it. */
typedef enum {
    HU_COLLECTIVE_UNSAID,
    HU_COLLECTIVE_CALL, /* when it was called: not what it took */
    HU_COLLECTIVE_SPAN, /* from the first to the last of its kernels or transfers */
} hu_collective_record;

typedef struct {
    uint32_t name, dtype;
    uint32_t in_split, out_split; /* JSON text */
    uint32_t group, group_description, group_ranks;
    int64_t  in_elements, out_elements;            /* -1 absent */
    int64_t  bytes;                                /* of all of it, where elements are not recorded; 0 absent */
    int32_t  group_size, source_rank, target_rank; /* -1 absent */
    int32_t  rank_start, rank_stride;              /* -1 absent */
    int64_t  sequence, comm_id;                    /* -1 absent */
    int8_t   is_async;                             /* -1 absent */
    uint8_t  recorded;                             /* hu_collective_record */
} hu_collective_detail;

/* What OpenMP told of a thread. */
typedef enum {
    HU_OMP_OTHER,
    HU_OMP_PARALLEL,       /* a parallel region, on the thread that started it */
    HU_OMP_TASK,           /* what a thread does in a region until it arrives at a barrier */
    HU_OMP_TASKS,          /* explicit tasks that it ran at a barrier */
    HU_OMP_SHORT_PARALLEL, /* regions that were over in no time, added up */
    HU_OMP_SHORT_TASK,     /* the same, of what threads did in them */
    HU_OMP_BARRIER,        /* from its arrival to its release; work_ns: of explicit tasks that it ran there */
} hu_omp_what;

typedef struct {
    int64_t  region;      /* number of the region in its process; 0 absent */
    int64_t  work_ns;     /* without waits; of short regions their own time; -1 absent */
    int32_t  threads;     /* of the region; 0 absent */
    uint32_t calls;       /* regions that it stands for; 0: one */
    uint32_t caller;      /* function that called OpenMP */
    uint32_t place;       /* the same call as "module+0xaddress" */
    uint32_t line;        /* the same as "solve.c:12" */
    uint32_t worksharing; /* "static loop"; the last one */
    uint8_t  what;        /* hu_omp_what */
} hu_omp_detail;

/* Managed memory (unified memory of CUDA): faults on either side, and migrations. */
typedef enum {
    HU_MANAGED_HOST_FAULT,
    HU_MANAGED_DEVICE_FAULT,
    HU_MANAGED_TO_DEVICE,
    HU_MANAGED_TO_HOST,
    HU_MANAGED_KINDS
} hu_managed_kind;

typedef struct {
    uint64_t address; /* of the page, or the first of those that moved */
    int64_t  amount;  /* faults, or bytes that moved */
    int64_t  dur_ns;  /* of a migration; 0 of a fault */
    uint32_t name;    /* string id: the function of a host's fault; 0 unknown */
    uint8_t  kind;    /* hu_managed_kind */
} hu_managed_event;

/* One allocation (bytes > 0) or release (bytes < 0). */
typedef struct {
    int64_t  time_ns;
    uint32_t track;       /* the calling thread */
    int32_t  device_type; /* 0 CPU, 1 CUDA, 6 HIP, 20 private */
    int32_t  device;      /* -1 on the CPU */
    uint32_t site;        /* string id: the code that asked for it; 0 see its thread */
    uint64_t address;
    int64_t  bytes, total_allocated, total_reserved; /* totals: -1 absent */
    uint32_t stack;                                  /* 1 + row of a cpu stack: how it came there; 0 not known */
    uint8_t  phase;                                  /* hu_memory_phase; with a site */
    uint8_t  use;                                    /* hu_memory_use; where it is said, there is no address */
    bool     is_move;                                /* only its use changed: neither taken nor given back */
} hu_memory_event;

/* What the recorder says that a tensor is for, in the order of torch's memory profiler. */
typedef enum {
    HU_MEMORY_USE_UNSAID,
    HU_MEMORY_USE_PARAMETER,
    HU_MEMORY_USE_OPTIMIZER,
    HU_MEMORY_USE_INPUT,
    HU_MEMORY_USE_TEMPORARY,
    HU_MEMORY_USE_ACTIVATION,
    HU_MEMORY_USE_GRADIENT,
    HU_MEMORY_USE_AUTOGRAD,
    HU_MEMORY_USE_UNKNOWN
} hu_memory_use;

/* What the code was doing that took or gave back memory. */
typedef enum { HU_MEMORY_ELSEWHERE, HU_MEMORY_IN_BACKWARD, HU_MEMORY_IN_OPTIMIZER } hu_memory_phase;

/* What the allocator holds of a device in one piece, at the end of a snapshot. */
typedef struct {
    uint64_t address;
    int64_t  total_bytes, allocated_bytes, largest_free_bytes;
    int64_t  stream;
    int64_t  pool;                /* of a CUDA graph, which nobody else may use; 0 the common one */
    int32_t  device_type, device; /* as of hu_memory_event */
    uint32_t n_free;              /* blocks that nobody holds */
    uint32_t n_blocks;            /* that it consists of: neighbours in hu_trace_blocks(), in the order of segments */
    bool     is_expandable, is_small;
} hu_memory_segment;

/* A piece of a segment, at the end of a snapshot. */
typedef struct {
    uint64_t address;
    int64_t  bytes, requested_bytes; /* the allocator rounds up */
    uint32_t segment;                /* row */
    uint32_t site, stack;            /* who holds it; as of hu_memory_event */
    uint8_t  state;                  /* hu_memory_state */
} hu_memory_block;

typedef enum { HU_MEMORY_FREE, HU_MEMORY_HELD, HU_MEMORY_GOING } hu_memory_state; /* GOING: given back, still in use */

/* What an allocator did beside taking and giving back. */
typedef enum {
    HU_MEMORY_SEGMENT_ALLOC, /* cudaMalloc */
    HU_MEMORY_SEGMENT_FREE,
    HU_MEMORY_SEGMENT_MAP, /* of a segment that grows */
    HU_MEMORY_SEGMENT_UNMAP,
    HU_MEMORY_FREE_REQUESTED,
    HU_MEMORY_OOM,
    HU_MEMORY_SNAPSHOT,
    HU_MEMORY_ACTION_COUNT
} hu_memory_deed;

typedef struct {
    int64_t  time_ns;
    uint64_t address;
    int64_t  bytes;
    int64_t  device_free; /* with OOM: what the driver had left; -1 absent */
    int32_t  device_type, device;
    uint32_t after;       /* events of hu_trace_memory() that come before it */
    uint32_t site, stack; /* as of hu_memory_event */
    uint8_t  deed;        /* hu_memory_deed */
} hu_memory_action;

/* An annotation of the framework beside its allocations: a step of the optimizer began or ended. */
typedef struct {
    int64_t  time_ns;
    int32_t  device;
    uint32_t name;
    bool     is_end;
} hu_memory_mark;

typedef struct {
    int64_t  time_ns;
    uint32_t track; /* of kind HU_TRACK_COUNTER */
    double   value;
} hu_sample;

/* A call chain of the CPU is its innermost function and the chain of its caller. */
typedef struct {
    uint32_t caller;           /* 1 + row, always an earlier one; 0 none */
    uint32_t function, module; /* string ids */
} hu_cpu_stack;

/* Where a thread was when a timer looked. */
typedef struct {
    int64_t  time_ns;
    uint32_t track;     /* the thread */
    uint32_t stack;     /* 1 + row; 0 not known */
    uint8_t  is_kernel; /* inside the kernel, for that function */
} hu_cpu_sample;

/* What the kernel's scheduler says of a thread.  UNKNOWN: it lives, and nothing says what it does. */
typedef enum {
    HU_THREAD_RUNNING,
    HU_THREAD_RUNNABLE, /* it waits for a CPU */
    HU_THREAD_WAITING,  /* for anything else */
    HU_THREAD_UNKNOWN,
    HU_THREAD_STATE_COUNT,
} hu_sched_state;

/* A stretch of a thread's life in one state. */
typedef struct {
    int64_t  start_ns, end_ns;
    uint32_t track; /* of type HU_TRACK_HOST */
    uint16_t cpu;   /* 1 + its number, of a running thread; 0 not known */
    uint8_t  state; /* hu_sched_state */
} hu_stretch;

/* Where the states of a trace come from, the best first. */
typedef enum {
    HU_STATES_NONE,
    HU_STATES_SWITCHES,  /* each context switch was recorded: places and lengths are exact */
    HU_STATES_SCHEDSTAT, /* /proc was read now and then: lengths are exact, places are estimates */
    HU_STATES_SUMS,      /* lives are known, and of the command's main thread how long it ran and was runnable in all */
} hu_state_source;

/* One end of a forward-backward link, or of one from an operator to the work that it launched. */
typedef struct {
    int64_t  time_ns;
    uint64_t id;
    uint32_t track;
    uint32_t slice; /* the operator; UINT32_MAX when none was found */
    uint8_t  is_end;
    uint8_t  is_launch;
    uint32_t name; /* of a launch: the slice's */
} hu_flow;

#endif
