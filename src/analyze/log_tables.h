/* SPDX-License-Identifier: Apache-2.0
 * log_tables.h - DeepSpeed's tables: which collectives take the time and which only wait, which modules the forward pass. */
#ifndef HU_ANALYZE_LOG_TABLES_H
#define HU_ANALYZE_LOG_TABLES_H

#include "trace/step_log.h"

/* All sizes of one operation. */
typedef struct {
    hu_str           op;
    int64_t          count;
    double           ns;      /* average times count, summed over sizes: totals as printed may be negative */
    double           share;   /* of all operations */
    const hu_log_op *most;    /* the size that takes the most of it */
    const hu_log_op *largest; /* and the largest one */
} hu_op_sum;

typedef struct {
    HU_VEC(hu_op_sum) at; /* the longest first */
    double           ns;
    size_t           n_negative;    /* sizes whose printed total is below zero */
    const hu_log_op *waits;         /* a small size whose calls take far longer than its bytes can; NULL: none */
    double           wait_ns;       /* of all such sizes */
    double           straggler_ns;  /* that this rank took longer than the fastest one; NaN: not told */
    double           least_ns;      /* of the fastest, with it */
    bool             is_impossible; /* more time than all steps of the run took: the logger's clock failed */
} hu_op_answer;

/* All modules of one class, each without those in it. */
typedef struct {
    hu_str  kind;
    int64_t n;
    double  ns, share; /* of the forward pass; NaN without its time */
    double  macs;      /* of those that have no modules in them */
} hu_flops_kind;

typedef struct {
    HU_VEC(hu_flops_kind) kinds; /* the longest first */
    double inside_ns;            /* of the forward pass, in modules */
    bool   root_is_wrong;        /* the time of the whole model is longer than the iteration: its clock failed */
} hu_flops_answer;

/* Borrow from `log`.  False: no memory. */
bool hu_log_ops_measure(const hu_log_ops *ops, hu_arena *arena, hu_op_answer *out);
bool hu_log_flops_measure(const hu_log_flops *flops, hu_arena *arena, hu_flops_answer *out);

#endif
