/* SPDX-License-Identifier: Apache-2.0
 * sampler.h - a child that samples the sources of one kind and writes what they measured to a pipe. */
#ifndef HU_MONITOR_SAMPLER_H
#define HU_MONITOR_SAMPLER_H

#include <stdbool.h>
#include <sys/types.h>

#include "monitor/source.h"

typedef struct {
    pid_t pid;  /* 0: there is none */
    int   from; /* readings: a head, then its rows, and so on; closed when the child ends */
} hu_sampler_child;

const char *hu_sampler_name(hu_sampler which); /* "gpu" */

/* Starts it; it ends when its parent does, or nobody reads.  False: there are no sources of that kind, or errno says why. */
bool hu_sampler_start(hu_sampler which, const hu_source_options *options, hu_sampler_child *out);

#endif
