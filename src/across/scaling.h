/* SPDX-License-Identifier: Apache-2.0
 * scaling.h - what runs on more devices lose against the smallest of them, exactly divided by cause. */
#ifndef HU_ACROSS_SCALING_H
#define HU_ACROSS_SCALING_H

#include "across/rendezvous.h"

/* Where the time of a step goes, of which each piece may not shrink as it should. */
#define HU_LOSSES(L)                                   \
    L(COMPUTE, "compute", "compute")                   \
    L(WAIT, "wait", "waiting for other ranks")         \
    L(TRANSFER, "transfer", "exposed communication")   \
    L(COPY, "copy", "exposed copies")                  \
    L(DATA, "data_loader", "data loading")             \
    L(HOST, "host", "host (operators, Python, calls)") \
    L(OTHER, "other", "unrecorded time")

typedef enum {
#define L(id, key, words) HU_LOSS_##id,
    HU_LOSSES(L)
#undef L
        HU_LOSS_COUNT
} hu_loss;

/* One run: means over its ranks, each rank's step divided without rest. */
typedef struct {
    size_t  id;    /* the caller's, which keeps its meaning when runs are sorted */
    int64_t gpus;  /* devices, or processes where no device works: the world's size where recorded */
    size_t  ranks; /* that were read */
    int64_t nodes;
    double  step_ns; /* mean over ranks of the mean step = sum of class_ns */
    double  class_ns[HU_LOSS_COUNT];
    double  compute_most_ns; /* of the rank that computes longest */
    double  ideal_ns;        /* a step on a network that costs nothing, replayed by the caller; else NaN: */
                             /* it is then a step without the transfer that nothing hides               */
    bool has_device;         /* else processes are counted */
    bool has_waits;          /* collectives were matched, so that waiting is told from transfer */
} hu_scaling_run;

typedef enum { HU_SCALING_AUTO, HU_SCALING_WEAK, HU_SCALING_STRONG } hu_scaling_mode;

/* A run against the smallest. */
typedef struct {
    double speedup, efficiency_pct; /* throughput over that of the smallest; over the number of devices too */
    double karp_flatt;              /* the serial fraction that would explain it; NaN for the smallest */
    double loss_pct[HU_LOSS_COUNT]; /* sum = 100 - efficiency, exactly; below 0: it gained */
    double load_balance_pct, transfer_pct, serialisation_pct; /* POP's efficiencies: useful computation = their product */
} hu_scaling_row;

enum { HU_SCALING_RUNS = 64 };

typedef struct {
    hu_scaling_run  run[HU_SCALING_RUNS]; /* by number of devices */
    hu_scaling_row  row[HU_SCALING_RUNS];
    size_t          n;
    hu_scaling_mode mode; /* weak: each device gets as much work as before; strong: the work is divided */
    bool            mode_is_guessed;
    /* what twice as many devices as the largest run would do; NaN with a single run */
    double next_speedup, next_low, next_high;
} hu_scaling;

/* One run from its ranks; `r` may be NULL for one rank alone.  False when no rank has a step. */
bool hu_scaling_run_measure(hu_digest *const *digests, size_t n, const hu_rendezvous *r, hu_scaling_run *out);

/* Compares out->run[0..n), which stand in any order; `mode` as told, or HU_SCALING_AUTO. */
void hu_scaling_measure(hu_scaling *s, hu_scaling_mode mode);

const char *hu_loss_key(hu_loss loss);
const char *hu_loss_words(hu_loss loss);

#endif
