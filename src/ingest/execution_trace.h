/* SPDX-License-Identifier: Apache-2.0
 * execution_trace.h - execution traces: of PyTorch as JSON, of Chakra as protocol buffers (docs/formats/execution-trace.md).
 */
#ifndef HU_INGEST_EXECUTION_TRACE_H
#define HU_INGEST_EXECUTION_TRACE_H

#include "base/input.h"
#include "trace/execution.h"

/* Is this the beginning of one?  Names say nothing: PyTorch's are often called *.pt.trace.json. */
bool hu_execution_trace_probe(hu_str head);

/* Reads all of an open input.  Texts live in `arena`.  Returns 0, HU_ENOMEM, HU_EEMPTY, HU_ELIMIT or HU_EIO. */
int hu_execution_trace_read(hu_input *in, hu_arena *arena, hu_execution *out, hu_error *err);

/* The other form: nodes behind each other, each with its length before it. */
bool hu_chakra_probe(hu_str head);

/* Adds the nodes of a whole file, and what its first message says of it.  Returns 0 or an error. */
int hu_chakra_read(hu_str bytes, const hu_limits *limits, hu_arena *arena, hu_execution *out, hu_error *err);

/* For both: adds a node of that name, which `is_range` or the name says is no operator.  False: no memory. */
bool hu_execution_add(hu_execution *e, hu_arena *arena, hu_execution_node *node, hu_str name, bool is_range);

#endif
