/* SPDX-License-Identifier: Apache-2.0
 * counters.h - what the hardware counters of one launch say: what bounds it, and what its warps wait for.
 *
 * Thresholds are those that Nsight Compute itself documents for its rules, so that both give one answer. */
#ifndef HU_ANALYZE_COUNTERS_H
#define HU_ANALYZE_COUNTERS_H

#include "base/error.h"
#include "trace/counters.h"

typedef enum {
    HU_KERNEL_UNKNOWN, /* not measured */
    HU_KERNEL_COMPUTE,
    HU_KERNEL_MEMORY,
    HU_KERNEL_BOTH,    /* within 10 points of each other */
    HU_KERNEL_LATENCY, /* neither reaches 60 % of its peak */
    HU_KERNEL_GRID,    /* the same, the grid is less than one wave, and a full wave of such blocks would reach it */
} hu_kernel_bound;

/* What has to be recorded for an answer; id, section of `ncu --section`, what it brings. */
#define HU_KERNEL_SECTIONS(S)                                          \
    S(SPEED, "SpeedOfLight", "what bounds the kernel")                 \
    S(OCCUPANCY, "Occupancy", "occupancy and its limit")               \
    S(STALLS, "WarpStateStats", "what warps wait for")                 \
    S(ROOFLINE, "SpeedOfLight_RooflineChart", "FLOP/s and their roof") \
    S(MEMORY, "MemoryWorkloadAnalysis", "bytes/s of DRAM")

typedef enum {
#define S(id, section, brings) HU_KERNEL_NEEDS_##id,
    HU_KERNEL_SECTIONS(S)
#undef S
        HU_KERNEL_SECTION_COUNT
} hu_kernel_section;

enum { HU_KERNEL_STALLS = 3 };

typedef struct {
    hu_stall stall;
    double   share; /* 0..1 of the time of a warp between two instructions */
} hu_kernel_stall;

/* NaN: not measured. */
typedef struct {
    hu_kernel_bound bound;
    const char     *level; /* of memory, that is used most: "DRAM", "L2", "L1 or shared memory"; NULL: unknown */

    double flops_per_s, peak_flops_per_s; /* of all precisions without matrix units; the peak of the one used most */
    double bytes_per_s, peak_bytes_per_s; /* of DRAM */
    double intensity, ridge;              /* FLOP/byte of the kernel; where the two roofs meet */
    bool   has_matrix_work;               /* matrix units worked, which flops_per_s leaves out */

    double theoretical_pct, achieved_pct; /* occupancy */
    double blocks_per_sm;                 /* that the tightest limit allows */
    double tail;                          /* 0..1 of the GPU that the last wave leaves empty, if blocks take alike */
    bool   by_registers, by_shared, by_warps, by_blocks, by_barriers; /* the tightest limits; all false at 100 % */

    hu_kernel_stall stalls[HU_KERNEL_STALLS]; /* the largest first */
    size_t          n_stalls;
    bool            is_sampled; /* from samples of program counters */

    bool lacks[HU_KERNEL_SECTION_COUNT]; /* these sections would bring what is not measured */
} hu_kernel_answer;

void hu_kernel_judge(const hu_counted *k, hu_kernel_answer *out);

/* Launches of one kernel with one grid and block on one device. */
typedef struct {
    size_t n, shown;          /* launches; the one of median duration, in hu_counters.kernels */
    double total_ns;          /* NaN where a duration is unknown */
    double least_ns, most_ns; /* of a launch; NaN where one is unknown */
} hu_kernel_group;

typedef struct {
    hu_kernel_group *at; /* by total time, the longest first; lives in the arena */
    size_t           n;
    uint32_t        *of;       /* of each launch its group */
    double           total_ns; /* of all; NaN where one is unknown */
} hu_kernel_groups;

/* What `n` launches of one shape have in common, in any order, which becomes by duration. */
void hu_kernel_group_of(const hu_counters *c, const hu_counted **launches, size_t n, hu_kernel_group *out);

/* Returns 0 or HU_ENOMEM. */
int hu_kernel_group_all(const hu_counters *c, hu_arena *arena, hu_kernel_groups *out, hu_error *err);

/* "long_scoreboard", and one line on what it means and what helps. */
const char *hu_stall_name(hu_stall stall);
const char *hu_stall_advice(hu_stall stall);

const char *hu_kernel_section_name(hu_kernel_section section);
const char *hu_kernel_section_brings(hu_kernel_section section);

#endif
