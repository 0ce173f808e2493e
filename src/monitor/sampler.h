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

/*
 * What a sampler and its keeper tell one another, in memory that both see: which source is being asked, and which ones are
 * not to be asked for now, because the last one who asked them never came back.
 */
enum { HU_SOURCES_MOST = 64 };

typedef struct {
    _Atomic int16_t asked; /* number of the source; HU_ASKS_NONE between looks */
    _Atomic bool    is_shunned[HU_SOURCES_MOST];
} hu_sampler_board;

enum { HU_ASKS_NONE = -1 };

const char *hu_sampler_name(hu_sampler which); /* "gpu" */

/* Starts it; it ends when its parent does, or nobody reads.  False: there are no sources of that kind, or errno says why. */
bool hu_sampler_start(hu_sampler which, const hu_source_options *options, hu_sampler_board *board, hu_sampler_child *out);

#endif
