/* SPDX-License-Identifier: Apache-2.0
 * timeline.h - the slices of one rank as a browser draws them: columns of small differences, packed (docs/html-report.md).
 */
#ifndef HU_TIMELINE_TIMELINE_H
#define HU_TIMELINE_TIMELINE_H

#include "analyze/digest.h"
#include "timeline/proof.h"
#include "timeline/scenario.h"
#include "timeline/sight.h"

typedef struct {
    int64_t from_ns, to_ns;          /* only what lies in it, in ns since the first slice; to_ns <= from_ns: everything */
    int64_t pixels;                  /* that will show it: of slices beside each other that are shorter than what one pixel
                                       shows, one stands for all; 0: all are kept                                        */
    size_t  most;                    /* more slices: steps are chosen; 0: never */
    const hu_sight_index *index;     /* of the trace; NULL: every slice is looked at */
    const hu_scenario    *scenarios; /* drawn below the measured tracks */
    size_t                n_scenarios;
    const hu_proof       *proofs; /* what the page's sentences lead to */
    size_t                n_proofs;
} hu_timeline_options;

enum { HU_TIMELINE_SLICES = 2000000 }; /* what a page holds unless it is told to hold all */

typedef struct {
    hu_str  bytes;         /* gzip */
    size_t  raw_bytes;     /* unpacked */
    int64_t origin_ns;     /* the first slice, from which its times count, on the trace's clock */
    size_t  n;             /* slices in it */
    char    left_out[160]; /* which steps it holds, "" when it is all */
    hu_rule scenarios[HU_SCENARIOS];
    size_t  n_scenarios;
} hu_timeline;

/* Of a trace and what is known of it.  The result lives in `arena`, working memory in `scratch`.  Returns 0 or HU_ENOMEM. */
int hu_timeline_encode(const hu_trace *trace, const hu_digest *d, const hu_timeline_options *options, hu_arena *arena,
                       hu_arena *scratch, hu_timeline *out, hu_error *err);

#endif
