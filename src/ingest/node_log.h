/* SPDX-License-Identifier: Apache-2.0
 * node_log.h - what a monitor sampled of GPUs while a job ran; docs/formats/node-log.md lists the monitors. */
#ifndef HU_INGEST_NODE_LOG_H
#define HU_INGEST_NODE_LOG_H

#include "base/gpu_counters.h"
#include "base/input.h"

enum { HU_NODE_SEVERAL = -2 }; /* ranks of one GPU */

/* clang-format off */
/*
 * C(id, bit, words).  What drivers count, for the answer of a log alone (job/node.h).  With a bit it is the time in seconds
 * in which that reason (base/gpu_counters.h) held the clocks down.
 */
#define HU_NODE_COUNTS(C)                                                      \
    C(PCIE_REPLAYS, 0, "PCIe replays")                                         \
    C(NVLINK_FLITS, 0, "NVLink CRC errors (flits)")                            \
    C(NVLINK_DATA, 0, "NVLink CRC errors (data)")                              \
    C(NVLINK_REPLAYS, 0, "NVLink replays")                                     \
    C(NVLINK_RECOVERIES, 0, "NVLink recoveries")                               \
    C(ECC_CORRECTED, 0, "corrected ECC errors")                                \
    C(ECC_UNCORRECTED, 0, "uncorrected ECC errors")                            \
    C(ROWS_PENDING, 0, "row remaps pending")                                   \
    C(POWER_CAP, 0x4, "time under the software power cap")                     \
    C(SYNC_BOOST, 0x10, "time under sync boost")                               \
    C(THERMAL, 0x20, "time under software thermal slowdown")                   \
    C(HARDWARE_THERMAL, 0x40, "time under hardware thermal slowdown")          \
    C(POWER_BRAKE, 0x80, "time under the hardware power brake")
/* clang-format on */

typedef enum {
#define C(id, bit, words) HU_NODE_##id,
    HU_NODE_COUNTS(C)
#undef C
        HU_NODE_COUNT_KINDS
} hu_node_count_kind;

/* What does not change while a job runs; 0: not known. */
typedef enum {
    HU_NODE_MOST_SM_MHZ,
    HU_NODE_MOST_MEMORY_MHZ,
    HU_NODE_LIMIT_WATTS,
    HU_NODE_MEMORY_BYTES,
    HU_NODE_LANES, /* of PCIe, now */
    HU_NODE_MOST_LANES,
    HU_NODE_SLOW_CELSIUS, /* from which on the driver slows the clocks down */
    HU_NODE_FACTS
} hu_node_fact;

typedef struct {
    hu_str  uuid, host, name, bus, driver; /* "" not known */
    hu_str  file;                          /* that told of it first */
    int64_t number;                        /* of the driver's tools */
    int64_t rank;                          /* whose it is; -1 not known, or HU_NODE_SEVERAL */
    double  facts[HU_NODE_FACTS];
    double  old_xid; /* the last error when the log began; 0 none, or not known */
    int64_t moment;  /* of its last sample without a time */
    bool    is_mig;
    bool    is_unnumbered;  /* nothing but its bus names it */
    hu_str  lost;           /* what the driver said instead of values; "" nothing */
    bool    has_violations; /* a counter of time with lowered clocks rose, whose unit the file does not say */
    double  held[2];        /* sum of shares of looks in which power, and heat, lowered the clocks; of n_held */
    int64_t n_held[2];
    int64_t lost_ns; /* when it did so first */
} hu_node_gpu;

typedef struct {
    int64_t  ns; /* Unix time, or the number of a moment (hu_node_is_moment) */
    double   value;
    uint32_t gpu, quantity; /* hu_gpu_quantity, in its unit */
} hu_node_sample;

/* The same of a hu_node_count_kind. */
typedef struct {
    int64_t  ns;
    double   value;
    uint32_t gpu, kind;
} hu_node_count;

/* Values of one thing over time; n is 0 without any. */
typedef struct {
    size_t n;
    double sum, least, most, first, last;
} hu_node_sum;

/* A process on a GPU, as `nvidia-smi pmon` tells. */
typedef struct {
    uint32_t    gpu;
    int64_t     pid;
    hu_str      type, command; /* "C", "G", "C+G"; as the tool cuts it */
    size_t      looks;
    hu_node_sum busy, memory_busy; /* percent of the GPU, in the looks that have it */
    hu_node_sum memory;            /* bytes */
    int64_t     first_ns, last_ns; /* Unix time; 0: the file has none */
} hu_node_process;

/* What `nvidia-smi topo -m` prints: GPUs as rows, and whom each is linked with by what. */
typedef struct {
    hu_str        file;
    size_t        n_gpus, n; /* rows, columns: the GPUs, then network cards */
    const hu_str *names;     /* of the columns */
    const hu_str *links;     /* row by row: "NV18", "SYS", "X" */
} hu_node_topology;

/* Energy of processors or memory of a node (node_zones.h). */
typedef struct {
    hu_str name, host;
} hu_node_zone;

typedef struct {
    int64_t  ns; /* Unix time */
    double   joules;
    uint32_t zone;
} hu_node_zone_sample;

/* What one file has of the samples. */
typedef struct {
    hu_str  file;
    size_t  n;                 /* samples; a topology has none */
    int64_t first_ns, last_ns; /* of those with a time; 0, 0: none has */
    int64_t bad_lines, bad_offset;
} hu_node_file;

/* All files together.  Lists live in the arena. */
typedef struct {
    hu_arena *arena;
    HU_VEC(hu_node_gpu) gpus;
    HU_VEC(hu_node_sample) samples; /* by GPU, quantity and time, after hu_node_order */
    HU_VEC(hu_node_zone) zones;
    HU_VEC(hu_node_zone_sample) zone_samples; /* by zone and time, likewise */
    HU_VEC(hu_node_count) counts;             /* by GPU, kind and time, likewise */
    HU_VEC(hu_node_topology) topologies;
    HU_VEC(hu_node_process) processes;
    HU_VEC(hu_node_file) files;
    int64_t moments;               /* looks at samples that have no time of day */
    int64_t first_ns, last_ns;     /* of the samples that have a time; 0, 0: none has */
    int64_t period_ns;             /* between samples of one quantity, mostly; 0 not known */
    bool    has_amd;               /* GPUs of AMD, of which no reasons are read */
    int64_t bad_lines, bad_offset; /* lines that are no samples, as a full disk leaves; where the first begins */
} hu_node_log;

/* "node7" and "node7.cluster.local" are one. */
bool hu_node_is_same_host(hu_str a, hu_str b);

/* Is this no time, but the number of a look whose time of day the file does not say? */
static inline bool hu_node_is_moment(int64_t ns)
{
    return ns < INT64_C(1000000000000000000); /* September 2001 */
}

/* Takes a time, if it is one, into a span; 0, 0: nothing is in it yet. */
static inline void hu_node_widen(int64_t *first_ns, int64_t *last_ns, int64_t ns)
{
    if (hu_node_is_moment(ns))
        return;
    *first_ns = *last_ns == 0 || ns < *first_ns ? ns : *first_ns;
    *last_ns = ns > *last_ns ? ns : *last_ns;
}

/* Of a gap between samples, what may be the period of a monitor: at most a day. */
static inline int64_t hu_node_period(int64_t gap_ns)
{
    return gap_ns < INT64_C(86400000000000) ? gap_ns : INT64_C(86400000000000);
}

static inline bool hu_node_is_one_series(const hu_node_sample *a, const hu_node_sample *b)
{
    return a->gpu == b->gpu && a->quantity == b->quantity;
}

/* Does it hold any sample? */
static inline bool hu_node_log_has_any(const hu_node_log *log)
{
    return log->samples.n || log->zone_samples.n;
}

/* What these files are, for a file that is none of them. */
extern const char hu_node_log_none[];

/* Does it begin like one? */
bool hu_node_log_probe(hu_str head);

/*
 * Adds a file.  A log whose last line is not whole, since it is still written, gives the others.  Returns 0, or an error
 * that names the file and the place.
 */
int hu_node_log_read(hu_node_log *log, hu_input *in, hu_error *err);

/* The same for a path. */
int hu_node_log_read_path(hu_node_log *log, const char *path, const hu_limits *limits, hu_error *err);

#endif
