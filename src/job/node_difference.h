/* SPDX-License-Identifier: Apache-2.0
 * node_difference.h - what monitors sampled of two runs: what changed of each GPU, and over all of them.
 *
 * Samples follow one another and are alike, so they are cut into a few blocks, whose means vary as the run does.  A change
 * is clear where it is larger than three standard errors of these means, and than a hundredth.
 */
#ifndef HU_JOB_NODE_DIFFERENCE_H
#define HU_JOB_NODE_DIFFERENCE_H

#include "job/node.h"

/* clang-format off */
/* C(id, key of JSON, words, unit, is it a share, of which a change is said in points) */
#define HU_NODE_CHANGES(C)                                                 \
    C(BUSY, "busy_pct", "utilization", "%", true)                          \
    C(MEMORY_BUSY, "memory_busy_pct", "memory utilization", "%", true)     \
    C(LOWERED, "lowered_pct", "throttling", "%", true)                     \
    C(SM_CLOCK, "sm_mhz_while_busy", "SM clock while busy", "MHz", false)  \
    C(MEMORY_CLOCK, "memory_mhz", "memory clock", "MHz", false)            \
    C(POWER, "watts", "power", "W", false)                                 \
    C(MEMORY, "memory_bytes", "memory used", "B", false)                   \
    C(TEMPERATURE, "celsius", "temperature", "\xc2\xb0" "C", false)
/* clang-format on */

typedef enum {
#define C(id, key, words, unit, is_share) HU_NODE_CHANGE_##id,
    HU_NODE_CHANGES(C)
#undef C
        HU_NODE_CHANGE_KINDS
} hu_node_change_kind;

enum { HU_NODE_LEAST_SAMPLES = 16 }; /* of each run, to tell a change from variation */

typedef struct {
    double a, b;     /* means; NaN: the run does not have it */
    double error;    /* one standard error of b - a; NaN: too few samples, or shares without any */
    size_t n[2];     /* samples */
    bool   is_clear; /* where `error` is known */
} hu_node_change;

typedef struct {
    const hu_node_gpu_answer *a, *b;
    hu_node_change            of[HU_NODE_CHANGE_KINDS];
} hu_node_gpu_change;

typedef struct {
    const hu_node_answer *run[2];
    hu_node_gpu_change   *at; /* GPUs of both, in the order of A */
    size_t                n, only[2];
    bool                  has_all; /* both have the same GPUs */
    hu_node_change        all[HU_NODE_CHANGE_KINDS];

    bool is_by_number; /* nothing says that a GPU of A is that of B but its number */
    bool are_others;   /* they are not: their UUIDs differ */
} hu_node_difference;

/* Does the run have it, and the other one? */
static inline bool hu_node_change_is_of_both(const hu_node_change *c)
{
    return c->a == c->a && c->b == c->b;
}

/* Borrows from both.  False: no memory. */
bool hu_node_difference_measure(const hu_node_answer *a, const hu_node_answer *b, hu_arena *arena, hu_node_difference *out);

#endif
