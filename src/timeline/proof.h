/* SPDX-License-Identifier: Apache-2.0
 * proof.h - the slice that shows a finding: of all that its edit makes shorter, the one that gets most of it. */
#ifndef HU_TIMELINE_PROOF_H
#define HU_TIMELINE_PROOF_H

#include "advise/findings.h"

typedef struct {
    hu_rule rule;   /* that it shows, where class is HU_CLASS_COUNT */
    hu_class class; /* else the class of time of which it is the largest piece */
    uint32_t slice; /* of the trace */
} hu_proof;

enum { HU_PROOFS = HU_FINDINGS + HU_CLASS_COUNT };

/*
 * One proof for each finding that an edit of this rank prices, and for each class of time that some slice has; room for
 * HU_PROOFS in `out`.  Returns how many, or HU_ENOMEM.
 */
int hu_proofs_build(hu_simulation *s, const hu_findings *findings, hu_arena *scratch, hu_proof *out, hu_error *err);

#endif
