/* SPDX-License-Identifier: Apache-2.0
 * stray.h - what lies in a run's folder, is named like a trace and is none: settings, results, tokenizers, logs. */
#ifndef HU_JOB_STRAY_H
#define HU_JOB_STRAY_H

#include "job/glance.h"

/*
 * Is it what belongs beside traces (job/sorted.h), or whole JSON without events?  False of execution traces, and of what
 * cannot be read: a damaged trace has to be told.  By what was seen of it, all but `is_stray`; the file is opened once more
 * only where that was not all of it.
 */
bool hu_is_stray(const char *path, const hu_limits *limits, const hu_glance *seen);

#endif
