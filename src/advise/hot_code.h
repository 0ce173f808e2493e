/* SPDX-License-Identifier: Apache-2.0
 * hot_code.h - the finding "hot-code": one function computes while the job waits for nothing else. */
#ifndef HU_ADVISE_HOT_CODE_H
#define HU_ADVISE_HOT_CODE_H

#include "advise/findings.h"

/*
 * How much faster code can become is in no trace: the finding has no gain, and an interval from nothing to the time that the
 * function takes.  False: the CPU samples of the critical path are few or in no one function, or what is found already
 * (`others`) says whose thread computes there, or which pages are touched.  False without memory too.
 */
bool hu_hot_code_find(hu_simulation *s, const hu_findings *others, hu_finding *out);

#endif
