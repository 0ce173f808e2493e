/* SPDX-License-Identifier: Apache-2.0
 * partial.h - files that were read in part: which, and what they lack. */
#ifndef HU_JOB_PARTIAL_H
#define HU_JOB_PARTIAL_H

#include "base/unread.h"
#include "trace/quality.h"

/* Adds the file if its trace is cut or has lost events.  Returns 0 or HU_ENOMEM. */
int hu_partial_add(hu_unread_list *list, hu_arena *arena, hu_str file, const hu_quality *q, hu_error *err);

#endif
