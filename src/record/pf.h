/* SPDX-License-Identifier: Apache-2.0
 * pf.h - a recorded process as packets of a Perfetto trace; private to the files that write it.
 *
 * Each thread is one packet sequence.  Names are interned by their number in the process's table of texts, and our own
 * words by numbers behind those; every CLEAR_BYTES a sequence declares its state anew, so that a file that was cut or
 * split stays readable.
 */
#ifndef HU_RECORD_PF_H
#define HU_RECORD_PF_H

#include "base/map.h"
#include "base/out.h"
#include "base/protobuf_out.h"
#include "protocol/perfetto.h"
#include "record/call_sites.h"
#include "record/clock_map.h"
#include "record/ring_read.h"
#include "record/symbols.h"
#include "record/waits.h"

/* What we call things: names of events, of their arguments, and texts as values. */
/* clang-format off */
#define HU_PF_WORDS(W)                                                                                                 \
    W(UNNAMED, "(name lost)") W(LOST, "lost records") W(FORK, "fork") W(EXEC, "exec") W(STARTED, "process started")    \
    W(PAUSED, "recording paused") W(RESUMED, "recording resumed") W(DOMAIN, "domain") W(COLOR, "color")                \
    W(CATEGORY, "category") W(PHASE, "phase") W(CLASS, "class") W(BYTES, "bytes") W(PATH, "path") W(PEER, "peer")      \
    W(RESULT, "result") W(COMM, "comm") W(UNFINISHED, "unfinished") W(COUNT, "count") W(REASON, "reason")              \
    W(CHILD, "child") W(PROGRAM, "program") W(THREAD, "thread") W(VALUE, "value") W(OBJECT, "object")                  \
    W(OBJECT_NAME, "object_name") W(MUTEX, "mutex") W(CALLER, "caller") W(WAKE, "wake") W(HOW, "how")                  \
    W(HOLDER, "holder") W(UNLOCK, "unlock") W(SIGNAL, "signal") W(BROADCAST, "broadcast") W(POST, "post")              \
    W(FUTEX, "futex") W(EVENTFD, "eventfd") W(CORRELATION, "correlation") W(DEVICE, "device") W(CONTEXT, "context")    \
    W(STREAM, "stream") W(QUEUED, "queued") W(REGISTERS, "registers per thread") W(SHARED_MEMORY, "shared memory")     \
    W(BLOCKS_PER_SM, "blocks per SM") W(WARPS_PER_SM, "warps per SM") W(GRID, "grid") W(BLOCK, "block")                \
    W(GRAPH, "graph id") W(NODE, "graph node id") W(PRIORITY, "priority") W(BANDWIDTH, "memory bandwidth (GB/s)")      \
    W(FROM_DEVICE, "fromDevice") W(TO_DEVICE, "toDevice") W(CBID, "cbid") W(SYNC_KIND, "cuda_sync_kind")               \
    W(WAIT_STREAM, "wait_on_stream") W(WAIT_RECORD, "wait_on_cuda_event_record_corr_id")                               \
    W(WAIT_EVENT, "wait_on_cuda_event_id") W(DEVICE_TYPE, "Device Type") W(DEVICE_ID, "Device Id")                     \
    W(ADDRESS, "Addr") W(ALLOC_BYTES, "Bytes") W(MEMORY, "[memory]") W(COLLECTIVE, "Collective name")                  \
    W(DTYPE, "dtype") W(IN_ELEMENTS, "In msg nelems") W(OUT_ELEMENTS, "Out msg nelems") W(GROUP_SIZE, "Group size")    \
    W(GROUP_NAME, "Process Group Name") W(GROUP_DESCRIPTION, "Process Group Description") W(SEQUENCE, "Seq")           \
    W(SOURCE_RANK, "Src Rank") W(TARGET_RANK, "Dst Rank") W(COMM_RANK, "comm_rank") W(RECORDED, "recorded")            \
    W(EVENT, "event") W(STATE, "state") W(QUEUE, "queue") W(CL_QUEUED, "queued (device ns)")                           \
    W(CL_SUBMITTED, "submitted (device ns)") W(CL_STARTED, "started (device ns)") W(CL_ENDED, "ended (device ns)")     \
    W(COMMAND_WAIT, "Command Wait") W(QUEUE_SYNC, "Queue Sync") W(COMMAND_SYNC, "Command Sync")                        \
    W(QUEUE_BARRIER, "Queue Barrier")                                                                                  \
    W(REGION, "region") W(THREADS, "threads") W(REQUESTED, "requested") W(WORK_NS, "work_ns") W(CALLS, "calls")        \
    W(PLACE, "place") W(TASKS, "tasks") W(WORKSHARE, "worksharing") W(LINE, "line")                                    \
    W(INPUT_DIMS, "Input Dims") W(OP_SEQUENCE, "Sequence number") W(FORWARD_THREAD, "Fwd thread id")

#define HU_PF_CATEGORIES(C)                                                                                            \
    C(USER, "user_annotation") C(OS_CALL, "os_call") C(MPI, "mpi") C(LOST, "lost") C(PROCESS, "process")               \
    C(RECORDER, "recorder") C(WAKE, "osrt") C(KERNEL, "kernel") C(COPY, "gpu_memcpy") C(FILL, "gpu_memset")            \
    C(RUNTIME, "cuda_runtime") C(DRIVER, "cuda_driver") C(SYNC, "cuda_sync") C(OVERHEAD, "overhead")                   \
    C(HOST, "cuda_host_function") C(NCCL, "nccl") C(CL_RUNTIME, "opencl_runtime") C(CL_SYNC, "opencl_sync")            \
    C(OPENMP, "openmp") C(OPERATOR, "cpu_op")
/* clang-format on */

enum {
    HU_PF_OWN = 1 << 16,               /* iids of our own words begin here */
    HU_PF_NCCL_KEYS = HU_PF_OWN + 160, /* and a hu_nccl_field */
    HU_PF_OS_CALL_NAMES = HU_PF_OWN + 256,
    HU_PF_MPI_NAMES = HU_PF_OWN + 512,
    HU_PF_OWN_MOST = 1024,
    HU_PF_SITES = HU_PF_OWN + HU_PF_OWN_MOST, /* names of hu_pf.sites, by their ids */
    HU_PF_TRACKS_MOST = 1 << 12,              /* whose simultaneous events are kept apart */
};

typedef enum {
#define W(id, text) HU_PF_##id,
    HU_PF_WORDS(W)
#undef W
        HU_PF_WORD_COUNT
} hu_pf_word;

typedef enum {
#define C(id, text) HU_PF_OF_##id,
    HU_PF_CATEGORIES(C)
#undef C
        HU_PF_OF_NONE,
} hu_pf_category;

typedef enum { HU_PF_INT, HU_PF_UINT, HU_PF_DOUBLE, HU_PF_BOOL, HU_PF_POINTER, HU_PF_TEXT_ID, HU_PF_TEXT } hu_pf_value;

/* An argument; names and texts by their iid. */
typedef struct {
    uint32_t    name; /* 0: name_text */
    hu_str      name_text;
    hu_pf_value type;
    int64_t     whole; /* also an iid, also a pointer */
    double      real;
    hu_str      text;
} hu_pf_note;

enum { HU_PF_NOTES_MOST = 64 };

typedef struct {
    hu_pt_type     type;
    hu_pf_category category;
    int64_t        ns;
    uint32_t       name; /* iid; 0: `text` */
    hu_str         text;
    uint64_t       track; /* 0: of the sequence */
    double         counter;
    uint64_t       flow, flow_end; /* 0: none */
    size_t         n_notes;        /* hu_pf.notes: one event is made at a time */
} hu_pf_event;

typedef struct hu_pf_gpu hu_pf_gpu; /* pf_gpu.c */

/* One writer of packets. */
typedef struct {
    uint32_t id, generation;
    uint64_t track;   /* of its events */
    uint64_t written; /* since its state was declared */
    bool     is_begun;
} hu_pf_sequence;

/* What became of the records: for the attributes at the end of the file. */
typedef struct {
    uint64_t       events, orphans; /* written; ends of nothing, which are not */
    uint64_t       unfinished;      /* that we ended */
    uint64_t       placed;          /* lost records whose time and thread is known */
    uint64_t       early;           /* before the beginning of the file, and drawn there */
    int64_t        nccl_rank;       /* 1 + what NCCL calls the process, where its file says otherwise; 0: they agree */
    int64_t        clock_error_ns;  /* at most, of the clocks of OpenCL's devices; 0: there are none */
    hu_ring_damage damage;
} hu_pf_tally;

/* One end of a range that any thread may end. */
typedef struct {
    hu_record record;
    uint64_t  order; /* in which it was read */
    uint32_t  tid, more, n_more;
} hu_pf_range;

typedef struct {
    hu_out       *out;
    hu_arena     *arena; /* of the file */
    hu_pbw        w;
    hu_clock_map *clock;
    int64_t       base_ns;    /* times are written as distances from here */
    bool          is_limited; /* to steps or ranges, by each process itself */
    uint32_t      last_sequence, generation;
    uint64_t      last_uuid;
    hu_pf_tally   tally;
    hu_pf_note    notes[HU_PF_NOTES_MOST];
    char          payload[8192]; /* names and texts of structured values of the event at hand */
    size_t        payload_n;

    /* of the process at hand */
    hu_arena     *scratch;
    hu_ring_file *ring;
    uint64_t      process_track, process_id;
    int64_t       last_ns;   /* of it, or of its death where that was seen */
    uint32_t      n_ids;     /* of texts */
    uint32_t     *stamps[3]; /* by use and iid: the generation of the sequence that declared it */
    uint32_t      category_stamp[HU_PF_OF_NONE];
    hu_map        counters; /* text -> place of its track */
    HU_VEC(uint64_t) counter_tracks;
    HU_VEC(hu_pf_range) ranges;   /* beginnings and ends that any thread may write */
    HU_VEC(hu_record) range_more; /* what belongs to them */
    hu_call_sites sites;
    HU_VEC(uint32_t) site_stamps; /* as stamps, of texts alone */
    uint64_t first_track;         /* of its threads, in the order of the ring's list */
    hu_map   unlocks;             /* that were written, by time and track */

    /* The number of the arrow from a fork or exec to what it made; 0: that is not in the file. */
    uint64_t (*flow_to)(const void *flows, uint64_t process, const hu_record *r);
    const void *flows;
    hu_waits   *waits; /* that were seen from outside; NULL: none were looked for */

    hu_symbols        *symbols;
    hu_pf_gpu         *gpu;              /* of the process at hand; NULL: it has used none */
    hu_str            *readable;         /* names of its kernels, by id; .p NULL: as they are.  NULL: it has none */
    uint64_t           correlation_base; /* correlations of this process begin behind those of the ones before */
    struct hu_pf_nccl *nccl;             /* NULL: NCCL told nothing */
    struct hu_pf_cl   *cl;               /* NULL: it did not use OpenCL */
    struct hu_pf_omp  *omp;              /* NULL: OpenMP told nothing */
    struct hu_pf_gloo *gloo;             /* NULL: the process has no libtorch */
} hu_pf;

/* pf.c: packets.  Running out of memory is remembered in w; the caller asks once. */
void        hu_pf_begin_sequence(hu_pf *p, uint64_t track, hu_pf_sequence *out);
void        hu_pf_declare(hu_pf *p, hu_pf_sequence *s); /* what it declared so far counts no more */
void        hu_pf_write(hu_pf *p, hu_pf_sequence *s, hu_pf_event *e);
hu_pf_note *hu_pf_add(hu_pf *p, hu_pf_event *e, uint32_t name, hu_pf_value type); /* when full, the last one gives way */
void        hu_pf_add_more(hu_pf *p, hu_pf_event *e, const hu_ring_event *from);
void        hu_pf_add_text(hu_pf *p, hu_pf_event *e, hu_pf_word name, uint64_t id);          /* nothing when there is none */
void    hu_pf_add_range(hu_pf *p, hu_pf_event *e, const hu_ring_event *from, char color[8]); /* color: room for its text */
int64_t hu_pf_ns(hu_pf *p, uint64_t ticks);
size_t  hu_pf_open(hu_pf *p, const hu_pf_sequence *s); /* a packet of the sequence, or of none */
void    hu_pf_close(hu_pf *p, hu_pf_sequence *s, size_t open);
/* A row below another; `merges`: with those of the same name. */
void   hu_pf_row(hu_pf *p, hu_pf_sequence *s, uint64_t track, uint64_t parent, hu_str name, bool merges);
hu_str hu_pf_iid_text(const hu_pf *p, uint32_t iid);

/* pf_ranges.c: ranges that another thread may end.  False: no memory. */
bool hu_pf_ranges_take(hu_pf *p, const hu_ring_event *e, uint32_t tid);
bool hu_pf_ranges_write(hu_pf *p, hu_pf_sequence *s);

/* pf_nccl.c: what NCCL told its profiler.  Before the first thread; a record of a thread; what lies on no thread.  False: no
 * memory. */
bool hu_pf_nccl_survey(hu_pf *p);
bool hu_pf_nccl_take(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from);
bool hu_pf_nccl_write(hu_pf *p, hu_pf_sequence *s);

/* pf_gloo.c: collectives of PyTorch over gloo, from the waits of its threads.  Before the first thread, false: no memory;
 * those of a thread, by its number in the ring. */
bool hu_pf_gloo_survey(hu_pf *p);
void hu_pf_gloo_write(hu_pf *p, hu_pf_sequence *s, uint32_t thread);

/* pf_omp.c: what OpenMP told.  Before the first thread; a record of a thread, whose row below `parent` it makes: 0 until
 * then.  False: no memory. */
bool hu_pf_omp_survey(hu_pf *p);
bool hu_pf_omp_take(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from, uint64_t parent, uint64_t *row);

/* pf_outside.c: what was seen from outside and is not covered by records.  False: no memory. */
typedef struct {
    const uint32_t *pids; /* of which processes; NULL: of all */
    size_t          n_pids;
    const uint32_t *own; /* threads of ours in those processes: left out */
    size_t          n_own;
    int64_t         first_ns, end_ns; /* what is written, CLOCK_MONOTONIC; end 0: all */
    int64_t         least_ns;         /* of a wait, as of the calls that are recorded */
} hu_pf_outside_options;

bool    hu_pf_outside_write(hu_pf *p, const hu_pf_outside_options *options);
int64_t hu_pf_monotonic_ns(const hu_pf *p, int64_t boottime_ns);

/* pf_waits.c: what a call waited for, from where, and who woke whom. */
void hu_pf_add_place(hu_pf *p, hu_pf_event *e, const hu_ring_event *from);
void hu_pf_add_unfinished(hu_pf *p, hu_pf_event *e, const hu_ring_thread *thread); /* of the call that it is inside of */
void hu_pf_waker(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from);
/* The track of a thread by its number in the ring; 0: there is none. */
uint64_t hu_pf_track_of(const hu_pf *p, uint32_t thread);
void     hu_pf_wake(hu_pf *p, hu_pf_sequence *s, const hu_record *r);

/* pf_gpu.c: what CUPTI said, from the records of the thread that decoded it.  False: no memory. */
bool hu_pf_gpu_begin(hu_pf *p, const hu_ring_thread *thread); /* reads them once: what others refer to */
bool hu_pf_gpu_take(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *e);
bool hu_pf_gpu_end(hu_pf *p, hu_pf_sequence *s);

/* pf_opencl.c: what our layer of OpenCL saw.  Before the first thread; a record of a thread; when all are written.  False:
 * no memory. */
bool hu_pf_opencl_begin(hu_pf *p);
bool hu_pf_opencl_take(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from);
void hu_pf_opencl_end(hu_pf *p);

/* pf_thread.c: the tracks of all threads of a process, before the first event; all records of one thread. */
void hu_pf_threads(hu_pf *p, hu_pf_sequence *s);
int  hu_pf_thread(hu_pf *p, const hu_ring_thread *thread, hu_error *err);
void hu_pf_describe_thread(hu_pf *p, hu_pf_sequence *s, uint64_t track, uint32_t tid, hu_str name);
/* A counter of this name, below the process. */
void hu_pf_describe_counter(hu_pf *p, hu_pf_sequence *s, uint64_t track, hu_str name);

#endif
