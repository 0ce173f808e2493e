/* SPDX-License-Identifier: Apache-2.0
 * findings_wire.h - findings as bytes and back, so that another process can report them. */
#ifndef HU_ADVISE_FINDINGS_WIRE_H
#define HU_ADVISE_FINDINGS_WIRE_H

#include "advise/findings.h"

/* *out lives in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_findings_pack(const hu_findings *f, hu_arena *arena, hu_str *out, hu_error *err);

/* Findings of their own, to be freed with hu_findings_free.  NULL, and HU_ENOMEM or HU_EFORMAT in *err, on failure. */
hu_findings *hu_findings_unpack(hu_str bytes, hu_error *err);

#endif
