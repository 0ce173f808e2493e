/* SPDX-License-Identifier: Apache-2.0
 * scenario.h - one step as it would have been: where each piece of it lies when a finding is made good. */
#ifndef HU_TIMELINE_SCENARIO_H
#define HU_TIMELINE_SCENARIO_H

#include "advise/findings.h"

enum { HU_SCENARIOS = 3 }; /* of the findings with the largest gain */

/* Pieces of one thread or stream, by start.  Times are those of the trace, as if the step had begun when it did. */
typedef struct {
    uint32_t  track; /* of the trace; HU_NONE: no slice of it is known */
    int64_t  *start_ns, *dur_ns;
    uint32_t *slice; /* that the piece is, or is part of; HU_NONE */
    uint8_t *class;  /* hu_class */
    size_t n;
} hu_scenario_track;

typedef struct {
    hu_rule            rule;
    uint32_t           name;     /* of the step; string id, 0 none */
    int64_t            start_ns; /* of the step */
    int64_t            measured_end_ns, simulated_end_ns;
    hu_scenario_track *tracks;
    size_t             n_tracks;
} hu_scenario;

/*
 * The dearest findings that an edit prices, up to HU_SCENARIOS of them, each over the step of median length; in `arena`.
 * Returns how many, or HU_ENOMEM.
 */
int hu_scenarios_build(hu_simulation *s, const hu_findings *findings, hu_arena *arena, hu_scenario *out, hu_error *err);

#endif
