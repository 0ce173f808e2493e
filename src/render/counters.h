/* SPDX-License-Identifier: Apache-2.0
 * counters.h - what the counters of single kernels say, as text and as JSON. */
#ifndef HU_RENDER_COUNTERS_H
#define HU_RENDER_COUNTERS_H

#include "advise/measured_findings.h"
#include "base/out.h"

typedef struct {
    const hu_counters      *counters;
    const hu_kernel_groups *groups;
    const hu_measured      *measured; /* the same kernels in a trace of the job; NULL: no trace */
    const hu_revisions     *revised;  /* what it did to the findings of that trace; NULL: none */
    size_t                  top;      /* kernels that the text shows */
    size_t                  width;
} hu_counters_report;

void hu_counters_text(const hu_counters_report *r, hu_out *out);

/* docs/formats/ncu.md names the members. */
void hu_counters_json(const hu_counters_report *r, hu_out *out);

#endif
