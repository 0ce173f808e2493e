/* SPDX-License-Identifier: Apache-2.0
 * counters.h - what a profiler of single kernels measured: hardware counters by launch, without a timeline.
 *
 * Names are those of Nsight Compute ("Metrics Structure" and "Metrics Reference" of its Profiling Guide); titles and labels
 * are what its details page prints for them. */
#ifndef HU_TRACE_COUNTERS_H
#define HU_TRACE_COUNTERS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define HU_TITLE_SPEED     "GPU Speed Of Light Throughput"
#define HU_TITLE_OCCUPANCY "Occupancy"
#define HU_TITLE_LAUNCH    "Launch Statistics"
#define HU_TITLE_MEMORY    "Memory Workload Analysis"
#define HU_TITLE_STALLS    "Warp State Statistics"

/* id, metric, title and label on the details page (NULL: none).  `sm__sass_` stands for `smsp__sass_` too: both are sums. */
#define HU_COUNTERS(C)                                                                                                     \
    C(DURATION_NS, "gpu__time_duration.sum", HU_TITLE_SPEED, "Duration")                                                   \
    C(SM_PCT, "sm__throughput.avg.pct_of_peak_sustained_elapsed", HU_TITLE_SPEED, "Compute (SM) Throughput")               \
    C(MEMORY_PCT, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", HU_TITLE_SPEED, "Memory Throughput") \
    C(L1_PCT, "l1tex__throughput.avg.pct_of_peak_sustained_active", HU_TITLE_SPEED, "L1/TEX Cache Throughput")             \
    C(L2_PCT, "lts__throughput.avg.pct_of_peak_sustained_elapsed", HU_TITLE_SPEED, "L2 Cache Throughput")                  \
    C(DRAM_PCT, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", HU_TITLE_SPEED, "DRAM Throughput")               \
    C(DRAM_HZ, "dram__cycles_elapsed.avg.per_second", HU_TITLE_SPEED, "DRAM Frequency")                                    \
    C(SM_HZ, "sm__cycles_elapsed.avg.per_second", NULL, NULL)                                                              \
    C(SMSP_HZ, "smsp__cycles_elapsed.avg.per_second", NULL, NULL)                                                          \
    C(DRAM_BYTES_PER_S, "dram__bytes.sum.per_second", HU_TITLE_MEMORY, "Memory Throughput")                                \
    C(DRAM_BYTES, "dram__bytes.sum", NULL, NULL)                                                                           \
    C(DRAM_READ, "dram__bytes_read.sum", NULL, NULL)                                                                       \
    C(DRAM_WRITE, "dram__bytes_write.sum", NULL, NULL)                                                                     \
    C(DRAM_PEAK, "dram__bytes.sum.peak_sustained", NULL, NULL)                                                             \
    C(MATRIX_PCT, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", NULL, NULL)                           \
    C(THEORETICAL_PCT, "sm__maximum_warps_per_active_cycle_pct", HU_TITLE_OCCUPANCY, "Theoretical Occupancy")              \
    C(ACHIEVED_PCT, "sm__warps_active.avg.pct_of_peak_sustained_active", HU_TITLE_OCCUPANCY, "Achieved Occupancy")         \
    C(LIMIT_REGISTERS, "launch__occupancy_limit_registers", HU_TITLE_OCCUPANCY, "Block Limit Registers")                   \
    C(LIMIT_SHARED, "launch__occupancy_limit_shared_mem", HU_TITLE_OCCUPANCY, "Block Limit Shared Mem")                    \
    C(LIMIT_WARPS, "launch__occupancy_limit_warps", HU_TITLE_OCCUPANCY, "Block Limit Warps")                               \
    C(LIMIT_BLOCKS, "launch__occupancy_limit_blocks", HU_TITLE_OCCUPANCY, "Block Limit SM")                                \
    C(LIMIT_BARRIERS, "launch__occupancy_limit_barriers", HU_TITLE_OCCUPANCY, "Block Limit Barriers")                      \
    C(REGISTERS, "launch__registers_per_thread", HU_TITLE_LAUNCH, "Registers Per Thread")                                  \
    C(SHARED_BYTES, "launch__shared_mem_per_block", NULL, NULL)                                                            \
    C(WAVES, "launch__waves_per_multiprocessor", HU_TITLE_LAUNCH, "Waves Per SM")                                          \
    C(SMS, "device__attribute_multiprocessor_count", HU_TITLE_LAUNCH, "# SMs")                                             \
    C(CC_MAJOR, "device__attribute_compute_capability_major", NULL, NULL)                                                  \
    C(CC_MINOR, "device__attribute_compute_capability_minor", NULL, NULL)                                                  \
    C(WARP_LATENCY, "smsp__average_warp_latency_per_inst_issued.ratio", HU_TITLE_STALLS,                                   \
      "Warp Cycles Per Issued Instruction")                                                                                \
    HU_COUNTED_OPERATIONS(C, F, "f")                                                                                       \
    HU_COUNTED_OPERATIONS(C, D, "d")                                                                                       \
    HU_COUNTED_OPERATIONS(C, H, "h")

#define HU_SASS "sm__sass_thread_inst_executed_op_"

/* Seven of each precision, in this order: hu_counted_operation. */
#define HU_COUNTED_OPERATIONS(C, P, p)                                             \
    C(P##ADD_PER_CYCLE, HU_SASS p "add_pred_on.sum.per_cycle_elapsed", NULL, NULL) \
    C(P##MUL_PER_CYCLE, HU_SASS p "mul_pred_on.sum.per_cycle_elapsed", NULL, NULL) \
    C(P##FMA_PER_CYCLE, HU_SASS p "fma_pred_on.sum.per_cycle_elapsed", NULL, NULL) \
    C(P##ADD, HU_SASS p "add_pred_on.sum", NULL, NULL)                             \
    C(P##MUL, HU_SASS p "mul_pred_on.sum", NULL, NULL)                             \
    C(P##FMA, HU_SASS p "fma_pred_on.sum", NULL, NULL)                             \
    C(P##FMA_PEAK, HU_SASS p "fma_pred_on.sum.peak_sustained", NULL, NULL)

/* Why a warp does not issue: id, its name inside of metrics, its label on the details page ("Warp State", same guide). */
#define HU_STALLS(S)                                                   \
    S(LONG_SCOREBOARD, "long_scoreboard", "Stall Long Scoreboard")     \
    S(SHORT_SCOREBOARD, "short_scoreboard", "Stall Short Scoreboard")  \
    S(LG_THROTTLE, "lg_throttle", "Stall LG Throttle")                 \
    S(MIO_THROTTLE, "mio_throttle", "Stall MIO Throttle")              \
    S(TEX_THROTTLE, "tex_throttle", "Stall Tex Throttle")              \
    S(MATH_THROTTLE, "math_pipe_throttle", "Stall Math Pipe Throttle") \
    S(BARRIER, "barrier", "Stall Barrier")                             \
    S(MEMBAR, "membar", "Stall Membar")                                \
    S(WAIT, "wait", "Stall Wait")                                      \
    S(BRANCH, "branch_resolving", "Stall Branch Resolving")            \
    S(NO_INSTRUCTION, "no_instruction", "Stall No Instruction")        \
    S(IMC_MISS, "imc_miss", "Stall IMC Miss")                          \
    S(DISPATCH, "dispatch_stall", "Stall Dispatch Stall")              \
    S(DRAIN, "drain", "Stall Drain")                                   \
    S(GMMA, "gmma", "Stall GMMA")                                      \
    S(SLEEPING, "sleeping", "Stall Sleeping")                          \
    S(MISC, "misc", "Stall Misc")                                      \
    S(NOT_SELECTED, "not_selected", "Stall Not Selected")              \
    S(SELECTED, "selected", "Selected")

typedef enum {
#define C(id, metric, title, label) HU_COUNTER_##id,
    HU_COUNTERS(C)
#undef C
        HU_COUNTER_COUNT
} hu_counter;

typedef enum {
#define S(id, name, label) HU_STALL_##id,
    HU_STALLS(S)
#undef S
        HU_STALL_COUNT
} hu_stall;

/* Places of one precision's counters behind HU_COUNTER_FADD_PER_CYCLE and its like. */
enum { HU_OPERATION_ADD, HU_OPERATION_MUL, HU_OPERATION_FMA, HU_OPERATION_SUMS, HU_OPERATION_PEAK = 6, HU_OPERATION_STRIDE };

/* One launch.  Units are base units: ns, bytes, Hz, per cent of 100.  NaN: not measured. */
typedef struct {
    hu_str   name, device, cc; /* as the profiler prints them; "" unknown */
    uint64_t id;               /* of the launch in its report, from 0 */
    uint64_t grid[3], block[3];
    double   value[HU_COUNTER_COUNT];
    double   stall[HU_STALL_COUNT];  /* warps in this state at each issue */
    double   sample[HU_STALL_COUNT]; /* samples of program counters in this state */
} hu_counted;

/* All launches of a file, in the arena that they were read into. */
typedef struct {
    HU_VEC(hu_counted) kernels;
    uint64_t n_others; /* results that are of no single kernel: ranges, graphs, command lists */
    bool     is_cut;   /* the file ends in the middle of a result */
} hu_counters;

#endif
