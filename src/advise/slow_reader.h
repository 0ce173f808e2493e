/* SPDX-License-Identifier: Apache-2.0
 * slow_reader.h - the finding "slow-reader": a program waits for room in a pipe, because its reader does other things. */
#ifndef HU_ADVISE_SLOW_READER_H
#define HU_ADVISE_SLOW_READER_H

#include "advise/findings.h"

/*
 * It has no gain: how fast a reader could be is in no recording; the interval reaches to all that is waited.  False: nobody
 * waits for a quarter of the run in writes to pipes, or there is no memory.
 */
bool hu_slow_reader_find(hu_simulation *s, const hu_digest *d, double step_ns, hu_finding *out);

#endif
