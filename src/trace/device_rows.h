/* SPDX-License-Identifier: Apache-2.0
 * device_rows.h - rows that hold the work of a device although no category says so, private to this folder. */
#ifndef HU_TRACE_DEVICE_ROWS_H
#define HU_TRACE_DEVICE_ROWS_H

#include "trace/builder.h"

/* Makes streams of the host rows of the trace that `reader` knows by their process, and what it says of their slices. */
void hu_device_rows_settle(hu_builder *b, hu_trace *trace, const hu_row_reader *reader);

#endif
