/* SPDX-License-Identifier: Apache-2.0
 * check.h - is the graph any good?  Replay error alone does not tell: with a link missing it replays well and
 * predicts badly. */
#ifndef HU_GRAPH_CHECK_H
#define HU_GRAPH_CHECK_H

#include "graph/pricers.h"

/* id, key, what it measures, unit, green up to (or from), amber up to (or from); larger is better when green > amber */
#define HU_CHECKS(C)                                                                               \
    C(LOCAL, "local", "kernel starts explained within 2 \xc2\xb5s", "%", 90, 70)                   \
    C(GLOBAL, "global", "replay error of the worst step", "%", 1, 2)                               \
    C(COVERAGE, "coverage", "critical path in unexplained delays", "%", 5, 15)                     \
    C(FEASIBILITY, "feasibility", "edits that leave a stream busy longer than the step", "", 0, 0) \
    C(HOMOGENEITY, "homogeneity", "scaling error with all times doubled", "%", 0.001, 0.01)        \
    C(HOLD_OUT, "hold_out", "hold-out error: one step predicted from the others", "%", 3, 6)       \
    C(SPREAD, "spread", "spread between two models of unexplained delays", "points", 2, 5)

typedef enum {
#define C(id, key, what, unit, green, amber) HU_CHECK_##id,
    HU_CHECKS(C)
#undef C
        HU_CHECK_COUNT
} hu_check_id;

#define HU_GRADE_HELP                                                                                           \
    "green: the replay passes the test; amber: it is just beyond the limit, which lowers confidence; red: far " \
    "beyond it, and gains may be wrong; unknown: this trace cannot show it."

typedef enum { HU_GRADE_GREEN, HU_GRADE_AMBER, HU_GRADE_RED, HU_GRADE_UNKNOWN } hu_grade;

typedef struct {
    double   value[HU_CHECK_COUNT]; /* NaN: cannot be measured on this trace */
    hu_grade grade[HU_CHECK_COUNT];
    hu_grade worst;
} hu_check;

/*
 * Runs the battery; `scratch` pays for it.  `path` and `ends`, n_marks of them to work in, are of the replay as it was, the
 * last that the pricer made.  Returns 0 or HU_ENOMEM.
 */
int hu_check_measure(hu_pricers *pricers, const hu_path *path, int64_t *ends, hu_arena *scratch, hu_check *out,
                     hu_error *err);

const char *hu_check_key(hu_check_id id);
const char *hu_check_what(hu_check_id id);
const char *hu_check_unit(hu_check_id id);

/* Forbids a point when it is red: what the replay then says may be anything. */
bool hu_check_is_decisive(hu_check_id id);

typedef struct {
    char t[160];
} hu_check_words;

/* A value as a reason for doubt: "the worst step is replayed 6.5 % off (limit: at most 2)" */
hu_check_words hu_check_say(const hu_check *c, hu_check_id id);

double      hu_check_limit(hu_check_id id, hu_grade grade); /* of green or of amber */
const char *hu_grade_name(hu_grade grade);                  /* "green", "amber", "red", "unknown" */

#endif
