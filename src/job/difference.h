/* SPDX-License-Identifier: Apache-2.0
 * difference.h - two runs, of each the rank that its verdict speaks of: what can be compared, and by how much it differs.
 *
 * Only what both recorded in the same way is compared: a recorder that costs the program more makes everything longer, and
 * what only one of them recorded is no difference of the runs.
 */
#ifndef HU_JOB_DIFFERENCE_H
#define HU_JOB_DIFFERENCE_H

#include "job/job.h"
#include "job/memory_difference.h"

/* What an obstacle keeps from being compared. */
#define HU_DIFFERENCE_PARTS(P)                                 \
    P(STEPS, "steps", "steps and classes of time")             \
    P(HOST, "host", "host times of operators")                 \
    P(GPU, "gpu", "GPU times of kernels")                      \
    P(SUMS, "sums", "times per step of operators and kernels") \
    P(NAMES, "names", "what only one of them has")

typedef enum {
#define P(id, key, words) HU_DIFFERENCE_##id,
    HU_DIFFERENCE_PARTS(P)
#undef P
        HU_DIFFERENCE_COUNT
} hu_difference_part;

enum { HU_OBSTACLES = 10, HU_OBSTACLE_BYTES = 300 };

typedef struct {
    unsigned parts; /* bits 1 << hu_difference_part; none: to bear in mind */
    char     why[HU_OBSTACLE_BYTES];
} hu_obstacle;

typedef struct {
    const char *key, *words;
    double      a_ns, b_ns;
} hu_class_change;

/* A name of both, or of one alone: then the other's are NaN. */
typedef struct {
    hu_str name, short_name;
    double a_ns, b_ns, a_calls, b_calls; /* of a step, or of a call */
} hu_name_change;

typedef struct {
    hu_name_change *at; /* largest difference first */
    size_t          n;
} hu_name_changes;

/* A finding of both, or of one alone: then the other is NULL. */
typedef struct {
    const hu_finding *a, *b;
} hu_finding_change;

typedef struct {
    const hu_job    *job[2]; /* A and B */
    const hu_digest *d[2];

    hu_obstacle obstacle[HU_OBSTACLES];
    size_t      n_obstacles;
    unsigned    barred; /* what any of them keeps from being compared */

    double step_ns[2];                /* NaN unless steps are compared */
    bool   spread_is_known, is_clear; /* do they differ by more than the steps of each vary (two standard errors)? */

    hu_class_change class[HU_ROLE_COUNT]; /* add up to a step; of the GPU where both have one, else of the host */
    size_t n_classes;

    hu_memory_difference memory;    /* of both, where both recorded it */
    bool                 of_memory; /* both are memory snapshots, which have nothing else */

    bool            is_per_step; /* else names are compared by the mean of a call */
    hu_name_changes operators;   /* host time without what is inside */
    hu_name_changes kernels;

    hu_finding_change finding[2 * HU_FINDINGS]; /* of A, as it has them, then of B alone; none unless both were replayed */
    size_t            n_findings;
} hu_difference;

/* Lists live in `arena`, texts in the jobs.  Returns 0 or HU_ENOMEM. */
int hu_difference_measure(const hu_job *a, const hu_job *b, hu_arena *arena, hu_difference *out, hu_error *err);

const char *hu_difference_part_key(hu_difference_part part);
const char *hu_difference_part_words(hu_difference_part part);

static inline bool hu_difference_has(const hu_difference *x, hu_difference_part part)
{
    return !(x->barred >> part & 1u);
}

#endif
