/* SPDX-License-Identifier: Apache-2.0
 * step_log.h - what a training program and NCCL wrote into a log: times of steps and their parts, transports, warnings. */
#ifndef HU_TRACE_STEP_LOG_H
#define HU_TRACE_STEP_LOG_H

#include <math.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "trace/log_bench.h"
#include "trace/log_calls.h"
#include "trace/log_inspector.h"
#include "trace/log_rates.h"
#include "trace/log_stalls.h"
#include "trace/log_tables.h"
#include "trace/log_timeouts.h"
#include "trace/log_tuning.h"

typedef struct {
    int64_t  epoch; /* whose iteration it is, where the line tells that; else -1 */
    int64_t  iteration;
    int64_t  ns;       /* of one step; the mean of `covers` steps */
    int64_t  covers;   /* steps since the line before, where the line is their mean; else 1 */
    double   batch;    /* samples of all ranks in a step; NaN not told */
    double   tokens;   /* per second; NaN */
    double   samples;  /* per second; NaN */
    double   tflops;   /* per GPU and second; NaN */
    double   per_s;    /* steps per second; NaN */
    uint64_t line;     /* from 1 on */
    uint32_t run;      /* 0, and one more for each restart */
    int64_t  rank;     /* that a launcher's prefix names, of the line that told it first; -1 */
    int64_t  at_ns;    /* Unix time that was printed last, at its line or before it; 0 none */
    bool     is_bare;  /* the line does not say the unit of its time */
    bool     is_vague; /* nor whether that is of one step, or of all since the line before */
    double   unit_s;   /* seconds of the unit that it says; 0 */
} hu_log_step;

/* A step of which its line tells no more; all else is 0 or not told. */
static inline hu_log_step hu_log_step_of(int64_t iteration, int64_t ns, uint64_t line)
{
    return (hu_log_step){.epoch = -1,
                         .iteration = iteration,
                         .ns = ns,
                         .covers = 1,
                         .batch = NAN,
                         .tokens = NAN,
                         .samples = NAN,
                         .tflops = NAN,
                         .per_s = NAN,
                         .line = line,
                         .rank = -1};
}

/* How the unit of times that say none is known. */
typedef enum {
    HU_LOG_UNIT_TOLD,    /* all say theirs, or other lines of the log do */
    HU_LOG_UNIT_GIVEN,   /* by the user */
    HU_LOG_UNIT_RATE,    /* steps per second, or samples of a step and per second, agree with it */
    HU_LOG_UNIT_CLOCK,   /* times of day agree with it */
    HU_LOG_UNIT_UNKNOWN, /* `ns` of a step is the printed number times HU_LOG_BARE */
} hu_log_unit;

#define HU_LOG_BARE 1000000 /* so that ten digits before the point and six behind it have room */

/* Numbers of steps that begin as the file did, where no line names an epoch. */
typedef enum {
    HU_LOG_ANEW_UNKNOWN, /* ranks one behind the other, epochs, or a run that was begun anew */
    HU_LOG_ANEW_LATER,   /* by the times of day: no ranks */
    HU_LOG_ANEW_RANKS,   /* at the same times of day: of each step the slowest is kept */
} hu_log_anew;

/* Whose time a line has that comes many steps after the line before. */
typedef enum {
    HU_LOG_INTERVAL_NONE,    /* lines name each step, or each has the mean of those since the line before */
    HU_LOG_INTERVAL_STEP,    /* that of one step: lines, their writer or the times of day say so */
    HU_LOG_INTERVAL_LINE,    /* that of all of them, by the times of day: `ns` is their mean */
    HU_LOG_INTERVAL_UNKNOWN, /* it is taken for that of one */
} hu_log_interval;

/* One of the times below a step, under the log's own name. */
typedef struct {
    hu_str name;
    HU_VEC(int64_t) ns;        /* a value for each line; the largest where ranks differ */
    HU_VEC(int64_t) spread_ns; /* largest minus least over the ranks, of the lines that tell both */
    HU_VEC(int64_t) slowest;   /* the rank of the largest, of the lines that tell it */
} hu_log_part;

/* What one rank says of steps, by the prefix of its lines or in a file of its own. */
typedef struct {
    hu_str file;        /* its name; "": the rank is known */
    HU_VEC(int64_t) ns; /* of its steps, without a unit as in hu_log_step; n is 0 of a rank without lines */
    size_t kept;        /* of these, before the file that is read */
} hu_log_rank;

/* A text that was said several times. */
typedef struct {
    hu_str   text;
    uint64_t n, line; /* line: of the first */
} hu_log_words;

typedef HU_VEC(hu_log_words) hu_log_list;

/* Who says why the job ended. */
typedef enum {
    HU_LOG_END_XID,         /* the driver; text: the GPU's bus, code: the error's */
    HU_LOG_END_CANCELLED,   /* Slurm; text: "TIME LIMIT" …; "" no reason is printed */
    HU_LOG_END_HOST_MEMORY, /* Slurm or the kernel */
    HU_LOG_END_RANK,        /* torchrun; code: exit status of the rank that failed first, below 0 a signal */
} hu_log_end_kind;

typedef struct {
    hu_log_end_kind kind;
    hu_str          text;
    int64_t         code, rank; /* rank: -1 not told */
    uint64_t        line;       /* of the first of that code */
} hu_log_end;

typedef HU_VEC(hu_log_end) hu_log_ends;

enum { HU_LOG_NICS = 32 };

/* From NCCL_DEBUG=INFO or WARN. */
typedef struct {
    hu_str      version; /* "" */
    int64_t     ranks;   /* of the largest communicator; 0 not told */
    hu_log_list hosts;
    /* connections, by transport */
    uint64_t    n_p2p, n_shm, n_ib, n_ib_direct, n_socket, n_other;
    hu_log_list direct_hosts, indirect_hosts; /* whose InfiniBand or RoCE connections do with GPUDirect RDMA, and without */
    uint64_t    n_no_ib;                      /* processes that found no InfiniBand or RoCE device */
    hu_str      ib_devices;                   /* as the first process lists them; "" */
    hu_log_list settings;                     /* "NCCL_IB_DISABLE set by environment to 1." */
    hu_log_list warnings;
    double      nic_mbps[HU_LOG_NICS]; /* of each InfiniBand or RoCE port of a node, by its number; 0: there is none */
    double      local_gbps; /* what the links of a GPU carry within its node, as NCCL's topology has it; 0 not told */
    uint64_t    n_lines;
} hu_log_nccl;

typedef HU_VEC(hu_log_bench) hu_log_benches;
typedef HU_VEC(hu_log_op) hu_log_ops;

/* Of all files, in the arena that they were read into. */
typedef struct {
    hu_str writer; /* "Megatron-LM", "DeepSpeed" …; "" no known one */
    HU_VEC(hu_log_step) steps;
    HU_VEC(hu_log_part) parts;
    hu_log_nccl    nccl;
    hu_log_words   oom; /* "CUDA out of memory …"; n is 0 without */
    hu_log_ends    ends;
    hu_log_benches benches;
    hu_log_ops     ops;
    HU_VEC(int64_t) bus_prints; /* bits per second of bus bandwidth that each rank printed for itself */
    hu_log_timeouts  timeouts;
    hu_log_calls     calls;
    hu_log_stalls    stalls;
    hu_log_rates     rates;
    hu_log_flops     flops;
    hu_log_tuning    tuning;
    hu_log_inspector inspector;
    uint64_t         n_lines, n_twins; /* twins: lines of another rank about a step that is there */
    bool             is_from_bars;     /* and its steps are by the elapsed times of progress bars */
    bool             is_from_parts;    /* the log has no time of steps; they are the sums of forward, backward and step */
    uint64_t         n_anew;           /* times that numbers of steps begin anew, and that is no epoch */
    hu_log_anew      anew;             /* what that is */
    bool             has_falls;        /* numbers of steps begin anew, and that is no restart: epochs, or files of ranks */
    hu_log_unit      unit;
    double           unit_s;        /* seconds of that unit, where lines do not say it; 0: they do, or it is not known */
    HU_VEC(hu_log_rank) ranks;      /* by their numbers, of lines whose prefix tells it */
    HU_VEC(hu_log_rank) rank_files; /* of those that name no ranks */
    bool            has_rank_files; /* they cover the same steps: ranks', and no pieces of one log */
    hu_log_interval interval;
    double          clock_s;  /* from a step to the next by the times of day, of the last file that tells; 0 not told */
    uint64_t        n_rising; /* lines whose times rise from each to the next: since the start, so they are no steps here */
    bool            has_zone; /* its times of day name their zone; else they were read in that of this machine */
} hu_step_log;

#endif
