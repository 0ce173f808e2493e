/* SPDX-License-Identifier: Apache-2.0
 * repeats.h - correlation ids that several calls have, as in files that were made of several captures. */
#ifndef HU_TRACE_REPEATS_H
#define HU_TRACE_REPEATS_H

#include <stdbool.h>

#include "base/arena.h"
#include "trace/trace.h"

/*
 * Gives each device slice whose correlation id several runtime calls have, one after the other, to the last of them that
 * began before it; where all began later, to the first.  The rows of other slices stay.  False: there is no memory.
 */
bool hu_trace_link_repeats(hu_trace *t, hu_arena *scratch);

#endif
