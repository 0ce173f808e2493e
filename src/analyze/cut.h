/* SPDX-License-Identifier: Apache-2.0
 * cut.h - a file that ends in the middle: of which steps is the device side whole? */
#ifndef HU_ANALYZE_CUT_H
#define HU_ANALYZE_CUT_H

#include "analyze/steps.h"

/*
 * Marks steps as incomplete whose device side the file does not hold, or may not hold to its end.  Nothing to do for a
 * file that is whole, or that lost only what came behind its list of events; `names` are the flags of hu_names_classify.
 * *is_device: there is such a side, or was, to judge by the launches.  Returns 0 or HU_ENOMEM.
 */
int hu_cut_judge(const hu_trace *trace, const uint8_t *names, hu_step *at, size_t n, hu_arena *scratch, bool *is_device,
                 hu_error *err);

#endif
