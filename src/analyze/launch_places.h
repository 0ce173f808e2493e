/* SPDX-License-Identifier: Apache-2.0
 * launch_places.h - which launch of a step it was that a profiler of single launches measured.
 *
 * Such a profiler has no clock of the job.  It takes launches in their order, from some place on, so that they follow each
 * other as in the trace: where only one place of a step fits, the order tells which launch is which.
 */
#ifndef HU_ANALYZE_LAUNCH_PLACES_H
#define HU_ANALYZE_LAUNCH_PLACES_H

#include "analyze/kernel_shapes.h"
#include "trace/counters.h"

/* How far it is known which launches of a shape were measured: id, word in JSON. */
#define HU_LAUNCH_ORDERS(O)                                                                         \
    O(UNCHECKED, "unchecked") /* the trace does not say in which order it launched */               \
    O(ALIKE, "alike")         /* all launches of the shape in a step take alike: no need to know */ \
    O(SEQUENCE, "sequence")   /* by what was launched before and after */                           \
    O(DURATIONS, "durations") /* several places fit, and the durations of several launches tell */  \
    O(UNKNOWN, "unknown")     /* they differ, and cannot be told apart */

typedef enum {
#define O(id, word) HU_ORDER_##id,
    HU_LAUNCH_ORDERS(O)
#undef O
        HU_LAUNCH_ORDER_COUNT
} hu_launch_order;

enum { HU_PLACES_NAMED = 4 };

/* Launches of one shape in a step that take alike. */
typedef struct {
    uint32_t shape;
    uint32_t n, of;                  /* launches of it, and of the shape, in a step */
    uint32_t place[HU_PLACES_NAMED]; /* the first of them: the n-th of the shape in a step, from 1 */
    double   step_ns;                /* what they take in a step */
    double   shape_ns;               /* and all of the shape */
} hu_launch_class;

/* How launches of one shape differ within a step. */
typedef struct {
    bool        differs;
    const char *why; /* it cannot be told which is which; NULL: it can, or need not be */
    double      least_ns, most_ns;
    uint32_t    of; /* launches in a step; 0: not the same number in each */
} hu_shape_order;

typedef struct {
    hu_launch_class *classes;
    size_t           n_classes;
    uint32_t *class_of; /* of each measured launch its class; HU_MAP_NONE: its shape does not differ, or it is not told */
    hu_launch_order *order;  /* of each measured launch */
    hu_shape_order  *shapes; /* of each row of the trace's shapes */
} hu_launch_places;

/* Those of a step, and where a measured launch stands: a row of `shapes`, HU_MAP_NONE none. */
typedef struct {
    const hu_counters      *counters;
    const hu_kernel_shapes *shapes;
    const uint32_t         *shape_of; /* of each measured launch */
    const uint32_t         *same;     /* of each row the row that stands for it: of one name, grid and block there is one */
    const uint64_t         *names;    /* of each row: equal for equal names */
    bool                    has_steps;
} hu_launch_question;

/* Lists live in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_launch_places_find(const hu_launch_question *q, hu_arena *arena, hu_launch_places *out, hu_error *err);

const char *hu_launch_order_word(hu_launch_order order);

#endif
