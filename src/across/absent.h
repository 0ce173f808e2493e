/* SPDX-License-Identifier: Apache-2.0
 * absent.h - how much communication is with ranks of which no trace was read. */
#ifndef HU_ACROSS_ABSENT_H
#define HU_ACROSS_ABSENT_H

#include "analyze/digest.h"

/*
 * Of the time that these ranks are in collectives and messages, the share in those that others take part in, whose traces
 * are not among them: what looks like transfer there may be waiting for one of those.  Where no group is recorded the size
 * of the job decides.  0 without communication.  A negative code when there is no memory.
 */
int hu_absent_measure(hu_digest *const *digests, size_t n, double *share, hu_error *err);

#endif
