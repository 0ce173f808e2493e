/* SPDX-License-Identifier: Apache-2.0
 * measured.h - launches that a profiler of single kernels measured, held against the kernels of a trace of the same job. */
#ifndef HU_ANALYZE_MEASURED_H
#define HU_ANALYZE_MEASURED_H

#include "analyze/counters.h"
#include "analyze/launch_places.h"

/* How far a measured kernel is one of the trace's: word in JSON. */
#define HU_MEASURED_MATCHES(M)                                                                              \
    M(NONE, "none")               /* the trace has no kernel of this name */                                \
    M(OTHER_SHAPE, "other-shape") /* it has, but never with this grid and block: another size of problem */ \
    M(FUNCTION, "function")       /* one kernel of this function, with this grid and block, on each side */ \
    M(EXACT, "exact")             /* name with template arguments, grid and block */

typedef enum {
#define M(id, word) HU_MEASURED_##id,
    HU_MEASURED_MATCHES(M)
#undef M
        HU_MEASURED_MATCH_COUNT
} hu_measured_match;

/* Of one group of hu_kernel_groups. */
typedef struct {
    hu_measured_match match;
    size_t            shape;           /* the first row of hu_kernel_shapes that is meant; OTHER_SHAPE: one of its name */
    int64_t           calls, total_ns; /* in the trace; 0 where nothing matches */
    double            calls_per_step, step_ns; /* in a step; NaN without steps */
    double            slower;                  /* its duration over the trace's mean; NaN unknown */
    int64_t           counted_ns;              /* of total_ns, what no group before it stands for */
    hu_launch_order   order;                   /* which launches of a step it is, where they differ */
    hu_launch_class   place;                   /* SEQUENCE, DURATIONS: those that the group stands for, alone */
    uint32_t class;                            /* its number */
    bool   is_foreign;                         /* measured on another GPU than the trace's: says nothing of this job */
    double saved_ns; /* by which a step is shorter at most, where the unit it uses most ran at its peak; NaN */
} hu_measured_kernel;

typedef struct {
    hu_kernel_groups groups; /* one for launches of a shape that differ in the trace, where it can be told which they are */
    hu_measured_kernel     *at;    /* for each of them, in the arena */
    size_t                 *order; /* groups by their time in the trace, the longest first; then those that do not match */
    size_t                  n, n_matched;
    int64_t                 matched_ns, all_ns; /* of the trace's kernels without communication */
    int64_t                 steps;              /* that count; 0 none */
    double                  step_ns;            /* the mean step; NaN */
    hu_shape_order         *orders;             /* of each row of `shapes` */
    const hu_kernel_shapes *shapes;             /* empty: the trace does not say how its kernels were launched */
} hu_measured;

/*
 * `steps` and `step_ns`: how many of the trace count, and their mean; 0 and NaN without.  Returns 0 or HU_ENOMEM.
 */
int hu_measured_join(const hu_counters *counters, const hu_kernel_groups *groups, const hu_kernel_shapes *shapes,
                     int64_t steps, double step_ns, hu_arena *arena, hu_measured *out, hu_error *err);

const char *hu_measured_match_word(hu_measured_match match);

#endif
