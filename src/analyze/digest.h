/* SPDX-License-Identifier: Apache-2.0
 * digest.h - all answers about one rank; outlives the trace they came from. */
#ifndef HU_ANALYZE_DIGEST_H
#define HU_ANALYZE_DIGEST_H

#include "analyze/breakdown.h"
#include "analyze/calls.h"
#include "analyze/comm.h"
#include "analyze/copies.h"
#include "analyze/gpu_clocks.h"
#include "analyze/gpu_time.h"
#include "analyze/ground.h"
#include "analyze/health.h"
#include "analyze/host_energy.h"
#include "analyze/hot.h"
#include "analyze/hta.h"
#include "analyze/host_calls.h"
#include "analyze/deadlock.h"
#include "analyze/host_time.h"
#include "analyze/idle.h"
#include "analyze/kernel_shapes.h"
#include "analyze/kernels.h"
#include "analyze/launch.h"
#include "analyze/memory.h"
#include "analyze/op_kernels.h"
#include "analyze/operators.h"
#include "analyze/outside.h"
#include "analyze/overheads.h"
#include "analyze/own_code.h"
#include "analyze/parallelism.h"
#include "analyze/roofline.h"
#include "analyze/sequences.h"
#include "analyze/serving.h"
#include "analyze/slow_steps.h"
#include "analyze/steps.h"
#include "analyze/tracelens.h"
#include "analyze/tree.h"

enum { HU_DIGEST_ARENAS = 29 };

typedef struct {
    hu_arena        *arena; /* everything below lives here, or in one of these */
    hu_arena        *arenas[HU_DIGEST_ARENAS];
    hu_trace_info    info;
    hu_device       *devices;
    hu_str          *device_names;
    size_t           n_devices;
    hu_str           device;    /* the one that worked; "" unknown or none */
    int64_t          device_id; /* its number; -1 unknown or none */
    hu_str          *step_names;
    hu_gpu_time      gpu_time;
    hu_steps         steps;
    hu_breakdown     breakdown;
    hu_slow_steps    slow_steps;
    hu_operators     operators;
    hu_kernels       kernels;
    hu_copies        copies;
    hu_op_kernels    op_kernels;
    hu_idle          idle;
    hu_launches      launches;
    hu_calls         calls;
    hu_comm          comm;
    hu_memory        memory;
    hu_overheads     overheads;
    hu_hot           hot;
    hu_own_code      own_code;
    hu_tree          tree;      /* empty when brief, */
    hu_sequences     sequences; /* and so are these */
    hu_roofline      roofline;
    hu_host_calls    host_calls;
    hu_host_time     host_time;
    hu_outside       outside;
    hu_gpu_clocks    gpu_clocks;
    hu_host_energy   host_energy;
    hu_deadlock      deadlock;
    hu_phase_table   phases;
    hu_parallelism   parallelism;
    hu_health        health;
    hu_serving       serving;       /* no classes unless an engine marked its passes */
    hu_kernel_shapes kernel_shapes; /* empty unless it was asked for */
    hu_hta          *hta;           /* NULL unless it was asked for */
    hu_tracelens    *tracelens;     /* the same */
} hu_digest;

typedef enum { HU_COMPAT_NONE, HU_COMPAT_HTA, HU_COMPAT_TRACELENS } hu_compat;

typedef struct {
    hu_step_range steps;
    hu_grouping   grouping; /* of operators */
    int           frames;   /* that make a stack, for HU_GROUP_STACK */
    hu_compat     compat;   /* also as another tool computes it */
    int           threads;  /* to ask questions on; 0 is 1 */
    bool          shapes;   /* kernels by grid and block too */
    bool          is_brief; /* without what only tables and files show: call tree, sequences, kernels of operators */
} hu_digest_options;

/* Asks every question; the steps are the ground's, not those of the options.  Ground and trace may be freed afterwards.
   NULL on failure. */
hu_digest *hu_digest_measure_on(const hu_ground *ground, const hu_digest_options *options, hu_error *err);

/* The same on a ground of its own. */
hu_digest *hu_digest_measure(const hu_trace *trace, const hu_digest_options *options, hu_error *err);

/*
 * One digest over all ranks: times are sums, shares means weighted by time, rows of equal names are added; steps, their
 * breakdown and what happens over time are left empty, because ranks have each their own.  Texts are borrowed from the
 * digests, which must outlive it.  NULL on failure.
 */
hu_digest *hu_digest_merge(hu_digest *const *digests, size_t n, hu_error *err);

/* What the ranks of a job say together of its parallelism. */
typedef struct {
    /* what more than half of those that say anything say, or what holds all they say; NULL: none */
    const hu_parallelism *said;
    size_t                agree, differ, silent; /* ranks that say the most common, something else, nothing */
    char                  why_not[640];          /* ranks speak, but not of one scheme; "" */
} hu_agreement;

void hu_digest_agree(hu_digest *const *digests, size_t n, hu_agreement *out);

/*
 * One job, one answer: what a rank alone was taken for, other than what was agreed on, is withdrawn from its summary
 * and said in its why_not.  For ranks of one run alone.  False when there is no memory.
 */
bool hu_digest_settle(hu_digest *const *digests, size_t n, const hu_agreement *agreed);

void hu_digest_free(hu_digest *d);

/* What per-step numbers are divided by: the steps that count, 0 when there are none. */
static inline int64_t hu_digest_step_count(const hu_digest *d)
{
    return d->steps.source == HU_STEPS_NONE ? 0 : (int64_t)d->steps.n_counted;
}

/* May there be work of a GPU that nobody here can read?  Events are of unknown kinds, or nobody knows who wrote them. */
static inline bool hu_digest_may_hide_gpu(const hu_digest *d)
{
    return d->gpu_time.n_slices == 0 && (d->health.others[0] || !d->info.tool.n);
}

/* What one of several ranks is called: its number, or where that is not known its place. */
static inline int64_t hu_digest_rank_of(hu_digest *const *digests, size_t i)
{
    return digests[i]->info.rank >= 0 ? digests[i]->info.rank : (int64_t)i;
}

/* The mean step, or the only window there is; NULL when the trace holds no time, or not the device's side of any of it. */
static inline const hu_step_time *hu_digest_step_time(const hu_digest *d)
{
    if (d->steps.n_counted)
        return &d->breakdown.mean;
    if (d->steps.is_cut)
        return NULL;
    return d->breakdown.n ? &d->breakdown.at[0] : NULL;
}

#endif
