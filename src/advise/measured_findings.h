/* SPDX-License-Identifier: Apache-2.0
 * measured_findings.h - findings about kernels, held against what a profiler of single kernels measured of these kernels. */
#ifndef HU_ADVISE_MEASURED_FINDINGS_H
#define HU_ADVISE_MEASURED_FINDINGS_H

#include "advise/findings.h"
#include "analyze/measured.h"

/* What becomes of a finding: id, word in JSON. */
#define HU_REVISIONS(R)                                                                \
    R(SHOWN, "shown")         /* the counters are shown, and decide nothing */         \
    R(CONFIRMED, "confirmed") /* most of its time is measured to be what it says */    \
    R(CORRECTED, "corrected") /* a part of it is not, or its gain is not what it is */ \
    R(WITHDRAWN, "withdrawn") /* half of its time, or more, is measured to be another thing */

typedef enum {
#define R(id, word) HU_REVISION_##id,
    HU_REVISIONS(R)
#undef R
        HU_REVISION_COUNT
} hu_revision_kind;

enum { HU_REVISED_MOST = 3, HU_REVISION_BYTES = 320 };

typedef struct {
    hu_rule          rule;
    hu_revision_kind kind;
    double           measured_pct;           /* of the time of the finding's kernels */
    double           contradicted_pct;       /* of the same */
    char             why[HU_REVISION_BYTES]; /* a sentence without its stop */
} hu_revision;

typedef struct {
    hu_revision at[HU_REVISED_MOST];
    size_t      n;
} hu_revisions;

typedef struct {
    const hu_counters *counters;
    const hu_measured *measured; /* of the same rank as the findings */
} hu_profile;

/*
 * Adds what was measured to the findings of one rank, corrects and withdraws.  `f` may be NULL.  Returns 0 or HU_ENOMEM.
 */
int hu_findings_revise(hu_findings *f, const hu_digest *d, const hu_profile *profile, hu_revisions *out, hu_error *err);

/*
 * "memory-bound 50 %, latency-bound 12 %": what bounds the time that was measured, in percent of all_ns; "" nothing was.
 * Returns its length.
 */
size_t hu_say_measured_bounds(const hu_profile *profile, char *text, size_t room);

const char *hu_revision_word(hu_revision_kind kind);

#endif
