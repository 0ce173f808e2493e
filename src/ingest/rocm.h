/* SPDX-License-Identifier: Apache-2.0
 * rocm.h - private to the readers of ROCm's profilers (docs/formats/rocprof.md): what all of their files tell, as slices.
 *
 * Files differ in how they write things down, not in what they say: so each reader takes its rows apart, and everything
 * that has to be decided about them is decided here, once.
 */
#ifndef HU_INGEST_ROCM_H
#define HU_INGEST_ROCM_H

#include "base/arena.h"
#include "base/map.h"
#include "trace/builder.h"

enum { ROCM_NO_AGENT = -1 };

/* A range of the process, which may overlap others of its thread. */
typedef struct {
    hu_builder_slice slice;
    int64_t          pid;
} rocm_range;

/* Memory that was taken or given back; a release does not say how much. */
typedef struct {
    int64_t  time_ns, pid, tid, bytes; /* bytes: -1 of a release */
    uint64_t address;
    int32_t  device; /* -1: of the host, or unknown */
} rocm_allocation;

typedef struct {
    hu_builder *b;
    hu_arena   *arena;
    hu_map      devices; /* agent, as rows name it -> number of the GPU */
    hu_map      pids;    /* of processes with GPU work */
    int64_t     part;    /* of several processes only this one; 0: all */
    HU_VEC(rocm_range) ranges;
    HU_VEC(rocm_allocation) allocations;
} rocm_reader;

/* When something ran, and who called. */
typedef struct {
    int64_t start_ns, end_ns; /* since the node booted */
    int64_t pid, tid;
    int64_t correlation; /* of the call that it is, or that started it; 0 none */
} rocm_when;

typedef struct {
    int64_t agent;  /* as rows name it */
    int64_t number; /* of the GPU, as HIP counts; < 0: it is no GPU */
    hu_str  name;
    int64_t memory_bytes, units, wave, waves_per_unit; /* 0 unknown */
} rocm_agent;

typedef struct {
    rocm_when when;
    int64_t   device, stream; /* of them -1: unknown */
    uint32_t  name, mangled;  /* string ids */
    int64_t   grid[3];        /* work items; 0 unknown */
    int64_t   group[3];
    int64_t   shared_bytes, registers;
} rocm_kernel;

typedef struct {
    rocm_when when;
    hu_str    direction; /* "MEMORY_COPY_HOST_TO_DEVICE" */
    int64_t   from, to;  /* numbers of GPUs; -1: the host, or unknown */
    int64_t   stream, bytes;
} rocm_copy;

typedef struct {
    rocm_when when;
    hu_str    domain;   /* "HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", "ROCTX"; "" unknown */
    hu_str    name;     /* of the function */
    hu_str    message;  /* of a marker; "" none */
    bool      overlaps; /* a range that may end on another thread */
} rocm_call;

/* False: no memory. */
bool rocm_init(rocm_reader *r, hu_builder *b, hu_arena *arena);

/* Does the process belong to the trace? */
static inline bool rocm_wants(const rocm_reader *r, int64_t pid)
{
    return r->part == 0 || pid == r->part;
}

/* Bytes of a GPU's memory, by the list of banks that rocprofv3 writes as JSON; 0 unknown. */
int64_t rocm_memory_of(hu_str banks);

void rocm_add_agent(rocm_reader *r, const rocm_agent *agent);
/* -1: none, or no GPU. */
int64_t rocm_device_of(const rocm_reader *r, int64_t agent);

void rocm_add_kernel(rocm_reader *r, const rocm_kernel *kernel);
void rocm_add_copy(rocm_reader *r, const rocm_copy *copy);
void rocm_add_call(rocm_reader *r, const rocm_call *call);
void rocm_add_allocation(rocm_reader *r, const rocm_allocation *a);

/* "gemm.kd" and "gemm(float) [clone .kd]" without what the loader adds, as a string id. */
uint32_t rocm_kernel_name(rocm_reader *r, hu_str name);

/* The name of a process: its command without the path. */
void rocm_name_process(rocm_reader *r, int64_t pid, hu_str command);

/* Adds to what the report says of the file. */
void rocm_warn(rocm_reader *r, const char *words);

/* What needs all rows. */
void rocm_finish(rocm_reader *r);

#endif
