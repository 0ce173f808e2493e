/* SPDX-License-Identifier: Apache-2.0
 * trace.h - one process (one rank), frozen: read-only columns that any number of threads may read.
 *
 * Times are int64 ns since the trace's base; strings are ids of one table and live as long as the trace.
 */
#ifndef HU_TRACE_TRACE_H
#define HU_TRACE_TRACE_H

#include <stddef.h>

#include "base/str.h"
#include "trace/details.h"
#include "trace/kinds.h"
#include "trace/quality.h"

typedef struct hu_trace hu_trace;

#define HU_NONE UINT32_MAX

/* Parallel arrays, in the order of the file. */
typedef struct {
    size_t          n;
    const int64_t  *start_ns, *dur_ns;
    const uint32_t *track, *name;
    const uint32_t *correlation; /* launch <-> device work; 0 none */
    const uint32_t *external;    /* "External id": the operator it belongs to; 0 none; NULL: dropped */
    const uint32_t *parent;      /* host: the slice of its thread that contains it; device work: the
                                           call that launched it, or else its operator; HU_NONE             */
    const uint32_t *detail;      /* row of the side table of its kind; HU_NONE */
    const uint8_t  *kind;        /* hu_kind */
} hu_slices;

typedef enum { HU_TRACK_HOST, HU_TRACK_STREAM, HU_TRACK_COUNTER, HU_TRACK_NOTE } hu_track_type;

typedef struct {
    hu_track_type type;
    int64_t       pid, tid; /* as recorded; of a text its string id, see *_is_text */
    bool          pid_is_text, tid_is_text;
    int64_t       device, stream;             /* of HU_TRACK_STREAM; -1 unknown */
    uint32_t      name;                       /* of the thread, stream or counter; 0 none */
    uint32_t      process;                    /* name of the process; 0 none */
    uint32_t      command;                    /* arguments of the process, a line each, without secrets; 0 unknown */
    int64_t       parent_pid;                 /* of the process that started this one; 0 unknown */
    uint32_t      first, count;               /* its slices: hu_trace_order()[first, first + count) */
    int64_t       last_ns;                    /* when the last of them ends; without any INT64_MIN */
    int64_t       child_ns;                   /* in those that are calls which wait for child processes */
    uint32_t      first_stretch, n_stretches; /* hu_trace_stretches() */
    int64_t       born_ns, died_ns;           /* of a thread whose life was recorded: its first to its last stretch; equal
                                                 where it was not */
} hu_track;

typedef struct {
    int64_t  id;
    uint32_t name;               /* "NVIDIA H100 80GB HBM3"; 0 when the tool did not say */
    int64_t  memory_bytes;       /* 0 unknown */
    int32_t  sm_count;           /* 0 unknown */
    int32_t  major, minor;       /* compute capability; 0 unknown */
    int32_t  warp_size;          /* 0 unknown */
    int32_t  max_threads_per_sm; /* 0 unknown */
} hu_device;

typedef struct {
    uint32_t key, value; /* the value as JSON text */
} hu_metadata;

typedef struct {
    hu_str  file;                              /* as the user named it */
    hu_str  format;                            /* "chrome-json" */
    hu_str  tool;                              /* "PyTorch profiler (Kineto)"; "" unknown */
    hu_str  compression;                       /* "", "gzip", "zstd" */
    hu_str  host;                              /* "" unknown */
    hu_str  backend;                           /* of the process group: "nccl"; "" unknown */
    hu_str  gpus;                              /* that were sampled beside the recording (analyze/gpu_clocks.c) */
    hu_str  rapl;                              /* zones that were sampled, or why none was (analyze/host_energy.c) */
    hu_str  outsiders;                         /* processes that the recorder was not in (analyze/outside.c) */
    int64_t bytes;                             /* decompressed */
    int64_t base_ns;                           /* unix ns = base_ns + time; 0 when times are absolute */
    int64_t rank, world_size;                  /* -1 unknown */
    int64_t schema_version;                    /* -1 absent */
    int64_t cpu_sample_ns;                     /* CPU time that one sample stands for; 0 unknown */
    int64_t cpus;                              /* that the job may use: as the user says, else as recorded; 0 unknown */
    int64_t cpu_limit_milli;                   /* of a recorded command's control group, in thousandths; 0 none known */
    int64_t cpu_periods, cpu_throttled;        /* of that limit; in which it was used up */
    int64_t cpu_throttled_ns;                  /* that the group was stopped for it, summed over CPUs */
    int64_t out_of_memory;                     /* records of allocations that failed */
    int64_t failed_bytes;                      /* that the last of them asked for; 0 unknown */
    int64_t command_cpu_ns;                    /* of a recorded command and all that it waited for; 0 unknown */
    int64_t command_pid;                       /* 0 unknown */
    int64_t nccl_rank;                         /* 1 + what NCCL calls the rank, where `rank` says otherwise; 0 they agree */
    int64_t command_signal;                    /* that a recorded command died of; 0 none, or unknown */
    int64_t main_running_ns, main_runnable_ns; /* of the command's main thread in all its life; 0 unknown */
    int64_t state_source;                      /* hu_state_source */
    int64_t opencl;          /* 1: commands of OpenCL were recorded; 2: and their devices are the host's own cores */
    int64_t opencl_error_ns; /* at most so wrong are times of its devices against those of the host */
    int64_t opencl_users;    /* times that a command waited for an event which the program itself sets */
    int64_t unseen_ppm;      /* of the time in an unknown state, in which threads ran by the CPU time of the command */
    hu_str  alloc_conf;      /* PYTORCH_CUDA_ALLOC_CONF; "" not set */
    bool    has_alloc_conf;  /* the recorder says how it is set */
    bool    has_shapes, has_stacks, has_memory, has_flops, has_modules; /* what the capture recorded */
} hu_trace_info;

hu_slices            hu_trace_slices(const hu_trace *trace);
const hu_trace_info *hu_trace_get_info(const hu_trace *trace);
const hu_quality    *hu_trace_get_quality(const hu_trace *trace);

/* The text of a string id; "" for 0. */
hu_str   hu_trace_text(const hu_trace *trace, uint32_t id);
uint32_t hu_trace_string_count(const hu_trace *trace);

/* What a recorder calls a name besides: a kernel's own name, its name for linkers, a range with its domain. */
typedef enum { HU_ALIAS_BASE, HU_ALIAS_MANGLED, HU_ALIAS_DOMAIN } hu_alias;

/* String id of the other name; HU_NONE: there is none, 0: several things have this name, and differ in the other one. */
uint32_t hu_trace_alias(const hu_trace *trace, hu_alias kind, uint32_t name);

/* The id of a text, or HU_NONE when the trace does not hold it. */
uint32_t hu_trace_find_text(const hu_trace *trace, hu_str text);

const hu_track *hu_trace_tracks(const hu_trace *trace, size_t *n);

/*
 * Slice numbers grouped by track; within a track by start, the longer one first, so that on host tracks a parent comes
 * before its children.
 */
const uint32_t *hu_trace_order(const hu_trace *trace);

/* Sorts slice numbers as on a track, by merging the sorted runs that are there; `spare` has room for n. */
void hu_trace_sort(const hu_trace *t, uint32_t *at, size_t n, uint32_t *spare);

const hu_device *hu_trace_devices(const hu_trace *trace, size_t *n);
/*
 * The device of that id.  Runtimes number the devices that a process may see, drivers those of the machine
 * (HIP_VISIBLE_DEVICES, a container), and recorders mix the two: where no id fits and all entries are alike, each of
 * them says the same of the device.  NULL where that does not hold either.
 */
const hu_device *hu_trace_device(const hu_trace *trace, int64_t id);
/* The device with the most work, of a trace that may list all of a machine; NULL unknown. */
const hu_device         *hu_trace_main_device(const hu_trace *trace);
const hu_metadata       *hu_trace_metadata(const hu_trace *trace, size_t *n);
const hu_memory_event   *hu_trace_memory(const hu_trace *trace, size_t *n);  /* by time on each track */
const hu_managed_event  *hu_trace_managed(const hu_trace *trace, size_t *n); /* in the order of the file */
const hu_memory_segment *hu_trace_segments(const hu_trace *trace, size_t *n);
const hu_memory_block   *hu_trace_blocks(const hu_trace *trace, size_t *n);         /* by segment */
const hu_memory_action  *hu_trace_memory_actions(const hu_trace *trace, size_t *n); /* in the order of the file */
const hu_memory_mark    *hu_trace_memory_marks(const hu_trace *trace, size_t *n);   /* in the order of the file */
const hu_sample         *hu_trace_samples(const hu_trace *trace, size_t *n);
const hu_cpu_sample     *hu_trace_cpu_samples(const hu_trace *trace, size_t *n); /* in the order of the file */
/* States of threads, by track; those of one track by time, and none overlaps another. */
const hu_stretch   *hu_trace_stretches(const hu_trace *trace, size_t *n);
const hu_wakeup    *hu_trace_wakes(const hu_trace *trace, size_t *n); /* by time */
size_t              hu_trace_cpu_stack_count(const hu_trace *trace);
const hu_cpu_stack *hu_trace_cpu_stack(const hu_trace *trace, uint32_t row); /* 1 + row, as stored */

/* Side tables; row = slices.detail[i] of a slice of that kind. */
size_t                      hu_trace_op_detail_count(const hu_trace *trace);
const hu_op_detail         *hu_trace_op_detail(const hu_trace *trace, uint32_t row);
const hu_kernel_detail     *hu_trace_kernel_detail(const hu_trace *trace, uint32_t row);
const hu_copy_detail       *hu_trace_copy_detail(const hu_trace *trace, uint32_t row);
const hu_call_detail       *hu_trace_call_detail(const hu_trace *trace, uint32_t row);
const hu_op_extra          *hu_trace_op_extra(const hu_trace *trace, uint32_t row); /* 1 + row, as stored */
const hu_geometry          *hu_trace_geometry(const hu_trace *trace, uint32_t row); /* 1 + row, as stored */
const hu_sync_detail       *hu_trace_sync_detail(const hu_trace *trace, uint32_t row);
const hu_python_detail     *hu_trace_python_detail(const hu_trace *trace, uint32_t row);
const hu_os_detail         *hu_trace_os_detail(const hu_trace *trace, uint32_t row);
const hu_omp_detail        *hu_trace_omp_detail(const hu_trace *trace, uint32_t row);
const hu_wait_detail       *hu_trace_wait_detail(const hu_trace *trace, uint32_t row); /* 1 + row, as stored */
const hu_mpi_detail        *hu_trace_mpi_detail(const hu_trace *trace, uint32_t row);
size_t                      hu_trace_collective_count(const hu_trace *trace);
const hu_collective_detail *hu_trace_collective_detail(const hu_trace *trace, uint32_t row); /* 1 + row */

/* The runtime or driver call that launched a piece of device work, or HU_NONE. */
uint32_t hu_trace_launch_of(const hu_trace *trace, uint32_t device_slice);

/* The innermost operator or annotation that device work or a call belongs to, or HU_NONE: the parent of the call, else
   the operator with the same external id. */
uint32_t hu_trace_op_of(const hu_trace *trace, uint32_t slice);

/* The device work of a call, in time order: one slice, or all kernels of a graph.  NULL and 0 when there is none. */
const uint32_t *hu_trace_work_of(const hu_trace *trace, uint32_t call, size_t *n);

/* The innermost slice of its thread that is open when a slice of the host ends, which is its parent unless slices cross;
   HU_NONE.  Whoever walks so gets from the last slice that began before an instant to all that is open at that instant. */
uint32_t hu_trace_after(const hu_trace *trace, uint32_t slice);

/* The forward operator of a backward one, or HU_NONE. */
uint32_t hu_trace_forward_of(const hu_trace *trace, uint32_t slice);

/* For who has to hold little: drops external ids and hu_trace_python_detail(), for which only exports and queries ask.
   Only before there are other readers. */
void hu_trace_drop_unasked(hu_trace *trace);

void hu_trace_free(hu_trace *trace);

#endif
