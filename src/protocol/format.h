/* SPDX-License-Identifier: Apache-2.0
 * format.h - all that the recorder inside a program and the one outside agree on: the files of a session.
 *
 * A session is a directory.  `control` is one page that everybody maps: what to record, and how the run stands.  Each
 * process image (a fork or an exec makes a new one) that records has one file, PID-TICKS.ring, mapped shared by the
 * program and by the supervisor, so that whatever was written is there when the program is killed:
 *
 *     block 0        hu_ring_head: who this is, and what was lost
 *     block 1 ...    each HU_BLOCK_BYTES: a hu_block_head, then records (or strings)
 *
 * Threads take free blocks and fill them; the supervisor copies records out of them into PID-TICKS.drain and gives full
 * blocks back (stream), or each thread reuses its own oldest block (flight recorder).  The file grows block by block up
 * to a limit and is never sparse: a full disk is an error at growth, not a SIGBUS at a store.
 * Once its process has ended, the supervisor cuts off the free blocks at its end: others read the file and do not map it.
 *
 * A record is valid when its type is not zero: the type is stored last (release).  So a reader stops at the first zero,
 * and in a dead program's ring a zero below `taken` is a record that was torn: counted, and skipped.  A record may be
 * followed by HU_RECORD_MORE records of the same block, which belong to it and were written before its type.
 *
 * Times are ticks: the TSC where it is invariant, else CLOCK_MONOTONIC in ns; clock snapshots map them to both.
 */
#ifndef HU_PROTOCOL_FORMAT_H
#define HU_PROTOCOL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/gpu.h"
#include "protocol/live_tally.h"
#include "protocol/opencl.h"

#define HU_RING_MAGIC    0x31474e4952505548ull /* "HUPRING1" */
#define HU_CONTROL_MAGIC 0x314c525443505548ull /* "HUPCTRL1" */
#define HU_DRAIN_MAGIC   0x314e5244u           /* "DRN1" */

enum {
    HU_FORMAT_VERSION = 1,
    HU_BLOCK_BYTES = 16384,
    HU_BLOCK_RECORDS = 510,     /* what is left behind the block's head */
    HU_RING_BLOCKS_MAX = 4096,  /* 64 MiB: the default limit for one process */
    HU_STRINGS_MAX = 65535,     /* ids are 1 ... this, and fit into `aux` */
    HU_STRING_BYTES_MAX = 4000, /* longer ones are cut */
    HU_SESSION_PATH_MAX = 400,
    HU_CONTROL_BYTES = 4096, /* of the file `control` */
};

/* What can be recorded: bits of hu_control.wanted and .mask.  The first member of a row is its name in --trace. */
/* clang-format off */
#define HU_DOORS(D)                                                                  \
    D(USER, "user", 0)          /* holdup_annotate.h and the Python package       */ \
    D(NVTX, "nvtx", 1)                                                               \
    D(OSRT, "osrt", 2)          /* calls of the C library that may wait           */ \
    D(MPI, "mpi", 3)                                                                 \
    D(CPU, "cpu", 4)            /* samples and context switches; by the supervisor */ \
    D(CUDA, "cuda", 5)          /* GPU work and the calls that launch it: CUPTI   */ \
    D(NCCL, "nccl", 6)                                                               \
    D(PYTORCH, "pytorch", 7)    /* operators; steps of the hook                   */ \
    D(OPENCL, "opencl", 8)      /* commands and calls: a layer of OpenCL's loader */ \
    D(OPENMP, "openmp", 9)      /* parallel regions, barriers, tasks: OMPT        */
/* clang-format on */

enum {
#define D(id, name, bit) HU_DOOR_##id = 1 << (bit),
    HU_DOORS(D)
#undef D
        HU_DOOR_LIVE =
            1 << 29, /* steps and causes are counted for a monitor (live_tally.h), whether or not anything is recorded */
    HU_DOOR_WATCH = 1 << 30, /* steps or ranges are watched, though nothing is recorded: they open the gate */
};

typedef struct {
    uint64_t time; /* ticks: when it happened or began */
    uint32_t id;   /* a string: the name */
    uint16_t type; /* hu_record_type; stored last */
    uint16_t aux;
    uint64_t a, b;
} hu_record;

typedef enum {
    HU_RECORD_NONE,
    HU_RECORD_MORE,  /* belongs to the one before: id names it, aux = hu_more, value in a */
    HU_RECORD_BEGIN, /* range of a thread: id text, aux domain, a = color | category << 32 */
    HU_RECORD_END,   /* aux domain */
    HU_RECORD_MARK,  /* as BEGIN */
    HU_RECORD_START, /* range that any thread may end: as BEGIN, b = its handle */
    HU_RECORD_STOP,  /* b = the handle */
    HU_RECORD_PHASE, /* as BEGIN, of a phase of the pipeline */
    HU_RECORD_STEP,  /* a = number of the step that begins (int64), b = hu_step_marker */
    HU_RECORD_STEP_END,
    HU_RECORD_COUNTER, /* id name, a = double */
    HU_RECORD_OS_CALL, /* a = ticks it took, aux = hu_os_call, b = bytes or result, id = path or peer */
    HU_RECORD_MPI,     /* a = ticks it took, aux = hu_mpi_call, b = bytes, id = communicator */
    HU_RECORD_PAYLOAD, /* raw bytes of a schema: see nvtx.c; id = schema */
    HU_RECORD_THREAD,  /* this thread is called `id` */
    HU_RECORD_FORK,    /* a = pid of the child */
    HU_RECORD_EXEC,    /* id = the program that is about to replace this one */
    HU_RECORD_LOST,    /* a = how many records, b = ticks of the first; aux = hu_loss */
    HU_RECORD_PAUSE,   /* the gate of this process closed, ... */
    HU_RECORD_RESUME,  /* ... and opened */
    HU_RECORD_SAMPLE,  /* a timer's sample: a = instruction pointer, aux = how many MORE hold callers */
    HU_RECORD_WAKE,    /* aux = hu_wake, a = the object that threads may wait for, b = where it was called */
    HU_RECORD_GPU,     /* of CUPTI: gpu.h */
    HU_RECORD_NCCL,    /* see nccl_events.h */
    HU_RECORD_OPENCL,  /* see opencl.h */
    HU_RECORD_OMP,     /* see omp_events.h */
    HU_RECORD_TORCH,   /* an operator: as BEGIN; a = sequence number (int64, -1: none), b = id of its shapes; MORE: line */
    HU_RECORD_TYPES,
} hu_record_type;

/* clang-format off */
typedef enum {                          /* what `a` of a MORE is */
    HU_MORE_INT, HU_MORE_UINT, HU_MORE_DOUBLE, HU_MORE_TEXT /* a string id */, HU_MORE_HEX, HU_MORE_ADDRESS,
    HU_MORE_BYTES,                      /* up to 16 raw bytes in a and b; their number in id */
    HU_MORE_PLACE,                      /* of a call: a = the object that it waited for (0: none), b = where it was called,
                                           id = number of the thread that had the lock when it began to wait; 0: not known */
    HU_MORE_MUTEX,                      /* ... the mutex of the condition that it waited for */
    HU_MORE_WAKER,                      /* ... who unlocked the lock, or that mutex: a = ticks, b = where,
                                           id = hu_block_head.thread */
    HU_MORE_NCCL,                       /* up to three fields: see nccl_events.h */
    HU_MORE_GPU_PLACE = 32, HU_MORE_GPU_LAUNCH, HU_MORE_GPU_BYTES, HU_MORE_GPU_EVENT, HU_MORE_GPU_MEMORY, /* gpu.h */
    HU_MORE_OPENCL_QUEUE = 48, HU_MORE_OPENCL_WAIT, HU_MORE_OPENCL_TIMES, HU_MORE_OPENCL_SIZE,
    HU_MORE_OPENCL_BYTES,               /* opencl.h */
    HU_MORE_OMP = 56,                   /* see omp_events.h */
} hu_more;

/* What PyTorch calls the threads that run collectives of gloo (later than 2.8). */
#define HU_THREAD_OF_GLOO "pt_gloo_runloop"

typedef enum {
    HU_WAKE_UNLOCK, HU_WAKE_SIGNAL, HU_WAKE_BROADCAST, HU_WAKE_POST, HU_WAKE_FUTEX, HU_WAKE_EVENTFD, HU_WAKE_KINDS,
} hu_wake;
/* clang-format on */

/* Who marks a step; those of PyTorch's hook count where the program marks none.  With a = 1 its STEP_END takes one back. */
typedef enum { HU_STEP_OF_PROGRAM, HU_STEP_OF_HOOK } hu_step_marker;

typedef enum {                      /* why records were lost */
               HU_LOSS_FULL,        /* no free block: the supervisor was too slow, dead, or the limit is too low */
               HU_LOSS_DISK,        /* the file could not grow: no space */
               HU_LOSS_SIGNAL,      /* in a signal handler, while the same thread took a block */
               HU_LOSS_STRINGS,     /* a text whose string table is full: the record is there, its text is not */
               HU_LOSS_OVERWRITTEN, /* flight recorder: the oldest gave way; by design */
               HU_LOSS_CAP,         /* the supervisor's limit on the session's size */
               HU_LOSS_REASONS,
} hu_loss;

typedef enum { HU_BLOCK_FREE, HU_BLOCK_OPEN, HU_BLOCK_FULL, HU_BLOCK_CLOSED /* its thread ended */ } hu_block_state;
typedef enum { HU_BLOCK_OF_RECORDS, HU_BLOCK_OF_STRINGS } hu_block_kind;

/* In front of each block.  A block of strings holds {uint32_t id, uint32_t length, bytes, padding to 8} without gaps. */
typedef struct {
    uint32_t state; /* hu_block_state */
    uint32_t kind;
    uint32_t tid;
    uint32_t thread;     /* 1, 2, ... in the order in which threads first recorded */
    uint64_t sequence;   /* 0, 1, ... among the blocks of this thread: what a drain file is joined by */
    uint32_t taken;      /* records handed out (may exceed what fits), or bytes of strings in use */
    uint32_t drained;    /* records, or bytes of strings, that the supervisor has copied out */
    uint32_t call;       /* hu_os_call + 1 (MPI: HU_INSIDE_MPI more) that it is inside of, 0: none; see HU_CALL_HELD */
    uint32_t next_free;  /* of a free block: the next free one */
    uint64_t call_since; /* ticks */
    uint64_t place;      /* of that call: the object that it waits for | the low 16 bits of where it was called << 48 */
    uint32_t used;       /* of a full or closed block: records that are in it */
    uint32_t place_high; /* the other bits of where it was called */
} hu_block_head;

/* A call that waits for a lock says which thread had it then: HU_CALL_HELD | its number << HU_CALL_BITS | the call. */
enum { HU_CALL_BITS = 9, HU_CALL_TID_BITS = 22 };
#define HU_CALL_HELD (1u << 31)

typedef struct {
    hu_block_head head;
    hu_record     records[HU_BLOCK_RECORDS];
} hu_block;

/* More ns than CLOCK_MONOTONIC or CLOCK_BOOTTIME shows for 146 years.  Readers refuse or cut what files claim beyond it, so
 * that sums and differences of two times fit. */
#define HU_TIME_MAX_NS (INT64_MAX / 2)

typedef struct {
    uint64_t ticks;
    int64_t  monotonic_ns, realtime_ns, boottime_ns;
} hu_clock_snapshot;

typedef enum { HU_CLOCK_MONOTONIC, HU_CLOCK_TSC } hu_clock;
typedef enum { HU_PROCESS_RUNS = 1, HU_PROCESS_EXITED, HU_PROCESS_REPLACED /* by an exec */ } hu_process_state;

/* Bits of hu_control.torch; the last one is of the program's table alone: ranges open and close the gate, at any time. */
enum { HU_TORCH_WANTS_SHAPES = 1, HU_TORCH_WANTS_MODULES = 2, HU_TORCH_WANTS_ALWAYS = 4, HU_TORCH_WANTS_STACKS = 8 };

/* What the hook of --pytorch did in a process.  The last: it found torch. */
typedef enum { HU_TORCH_NONE, HU_TORCH_FAILED, HU_TORCH_ON, HU_TORCH_STATES } hu_torch_state;

typedef struct {
    uint32_t state; /* hu_torch_state */
    uint32_t tid;   /* the thread whose operators are recorded */
    uint32_t has_own_steps;
    uint32_t made_way;                         /* how often another profiler took its place */
    uint64_t steps, operators, step_operators; /* step_operators: those inside of the steps */
    char     version[32];
    char     why[160]; /* operators are not recorded; "": they are */
} hu_torch_facts;

/* Block 0 of a ring file. */
typedef struct {
    uint64_t          magic;
    uint32_t          version, block_bytes;
    uint32_t          pid, ppid;
    uint64_t          started;  /* ticks: when the recorder was loaded */
    uint64_t          exited;   /* ticks; 0: it was killed, or runs */
    uint64_t          seen;     /* ticks: when the supervisor last saw it alive; 0: nobody looked */
    uint32_t          state;    /* hu_process_state */
    uint32_t          clock;    /* hu_clock */
    uint32_t          n_blocks; /* that exist, block 0 included */
    uint32_t          max_blocks;
    uint64_t          free_list;             /* index of the first free block (0: none) | tag << 32 */
    uint64_t          lost[HU_LOSS_REASONS]; /* records, by reason; all threads */
    uint64_t          first_lost, last_lost; /* ticks */
    uint32_t          n_threads, n_strings;
    uint32_t          forked; /* 1: a child that has not called exec; its parent is ppid */
    uint32_t          doors;  /* HU_DOOR_*: which were really entered (a library called us, a symbol was there) */
    int32_t           rank, local_rank, world_size, node; /* of this process's environment; -1: not known */
    hu_clock_snapshot begin, end;      /* end of a killed one: when the supervisor saw it dead; else all zero */
    char              rank_source[40]; /* which variables said so */
    char              program[256];    /* /proc/self/exe */
    char              name[64];        /* comm */
    char              job_id[64];
    char              command[4096]; /* arguments, each ended by '\0'; cut to what fits */
    uint32_t          command_bytes;
    uint32_t          pid_namespace; /* in which `pid` is its number: the inode of /proc/self/ns/pid; 0: not known */
    uint32_t          first_fresh;   /* blocks from here on were never taken: they are free, but not on the list */
    hu_cuda_facts     cuda;
    hu_opencl_facts   opencl;
    hu_torch_facts    torch;
    hu_live_tally     live; /* in a page of its own, which only those touch that use it */
} hu_ring_head;

/* What follows a hu_drain_head in a .drain file: `n` records, or bytes of strings. */
typedef struct {
    uint32_t magic, kind; /* hu_block_kind */
    uint32_t tid, thread;
    uint64_t sequence;
    uint32_t first, n; /* position in the block */
} hu_drain_head;

/* clang-format off */
typedef enum {
    HU_SESSION_ARMED = 1,               /* nothing is recorded yet */
    HU_SESSION_RECORDING, HU_SESSION_PAUSED, HU_SESSION_WRITING, HU_SESSION_WRITTEN, HU_SESSION_FAILED,
} hu_session_state;
/* clang-format on */

typedef enum { HU_MODE_STREAM, HU_MODE_FLIGHT } hu_mode;

/* The file `control`: written by the supervisor and by `holdup start|stop`, read by all programs of the session.  Members
 * are only appended, whatever the version: magic, version and made_by stay where they are, so that another holdup can say
 * whose session it is. */
typedef struct {
    uint64_t magic;
    uint32_t version, bytes; /* bytes: sizeof hu_control */
    uint32_t mask;           /* HU_DOOR_*: recorded now; 0, or HU_DOOR_LIVE: paused.  The one word of the hot path */
    uint32_t wanted;         /* HU_DOOR_*: what --trace asked for */
    uint32_t state;          /* hu_session_state */
    uint32_t mode;           /* hu_mode */
    uint32_t clock;          /* hu_clock: one for the whole session */
    uint32_t supervisor;     /* pid */
    uint32_t max_blocks;     /* of a ring file */
    uint32_t wants_paths;    /* names of files and peers */
    uint64_t os_threshold;   /* ticks: shorter OS calls are not recorded */
    double   ticks_per_second;
    uint32_t sample_hz;   /* timers inside the program: 0: none (perf does it, or nobody) */
    uint32_t wants_steps; /* 1: only first_step ... last_step are recorded */
    int64_t  first_step, last_step;
    uint32_t request, answered;   /* holdup start|stop: a count and its echo by the supervisor */
    uint32_t command;             /* of the request: 1 start, 2 stop, 3 cancel */
    uint32_t processes;           /* that attached so far */
    uint64_t heartbeat;           /* ticks of the supervisor's last round */
    uint32_t redacts_ranges;      /* secrets are left out of the texts of ranges and marks, too */
    uint32_t cuda;                /* HU_CUDA_WANTS_MEMORY and so on */
    uint32_t nccl_events;         /* bits of hu_nccl_kind: what NCCL is asked for */
    char     capture_range[128];  /* only inside user ranges of this text; "": everywhere */
    char     capture_domain[64];  /* ... and of this NVTX domain; "": any */
    char     name[64];            /* of the session, for start|stop|status */
    char     output[1024];        /* as hu_facts.output */
    char     failure[200];        /* HU_SESSION_FAILED: why */
    int64_t began_ns, stopped_ns; /* CLOCK_MONOTONIC: when it first recorded, and last ceased to; 0: not known, or not yet */
    uint32_t torch;               /* HU_TORCH_WANTS_SHAPES and so on */
    uint32_t live;                /* HU_DOOR_LIVE as soon as a monitor's socket was seen; it stays */
    uint64_t live_sent, live_failed; /* datagrams for monitors; those that found no room, or nobody */
    char     made_by[24];            /* the holdup that made the session, such as "1.2.3"; "": 0.1 */
} hu_control;

_Static_assert(sizeof(hu_record) == 32, "a record is 32 bytes");
_Static_assert(offsetof(hu_record, type) == 12, "the type is where readers look for it");
_Static_assert(sizeof(hu_block_head) == 64, "a block's head is two records");
_Static_assert(sizeof(hu_block) == HU_BLOCK_BYTES, "blocks fill whole pages");
_Static_assert(sizeof(hu_ring_head) <= HU_BLOCK_BYTES, "the file's head fills block 0 at most");
_Static_assert(sizeof(hu_drain_head) == 32, "drain files stay aligned");
_Static_assert(sizeof(hu_control) <= HU_CONTROL_BYTES, "control is one page");

#endif
