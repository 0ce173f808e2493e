/* SPDX-License-Identifier: Apache-2.0
 * launch_flows.h - from operators to the work of a device, in traces that have no ids of calls. */
#ifndef HU_TRACE_LAUNCH_FLOWS_H
#define HU_TRACE_LAUNCH_FLOWS_H

#include <stdbool.h>

#include "base/arena.h"
#include "trace/trace.h"

/*
 * Gives each device slice without a launch, at whose begin a flow ends, to the operator at whose begin that flow begins.
 * Needs the order of tracks.  False: there is no memory.
 */
bool hu_trace_link_launches(hu_trace *t, hu_arena *scratch);

#endif
