/* SPDX-License-Identifier: Apache-2.0
 * xla_names.h - what XLA's profiler (JAX, TensorFlow) calls things, in its own files and in Chrome traces. */
#ifndef HU_INGEST_XLA_NAMES_H
#define HU_INGEST_XLA_NAMES_H

#include <stdint.h>

#include "base/str.h"
#include "trace/kinds.h"

enum { HU_XLA_NAME_BYTES = 512 }; /* a text that these functions write is shorter */

/* A frame of Python, "$train.py:12 step" or "$builtins len", as torch.profiler writes it: "train.py(12): step" or
   "<built-in function len>".  0: it is none; else the length of what stands in `out`. */
size_t hu_xla_python_name(hu_str name, char out[HU_XLA_NAME_BYTES]);

/* A step that StepTraceAnnotation marked, by its name and number: "train step 7"; the name itself where it says so. */
size_t hu_xla_step_name(hu_str name, int64_t number, char out[HU_XLA_NAME_BYTES]);

/* "MemcpyH2D" is "Memcpy HtoD" elsewhere; "" for what is no copy. */
hu_str hu_xla_copy_name(hu_str name);

/* What an operation of a TPU does, by its name ("all-reduce-start.3") and category ("" unknown); is_async: its line says
   that it runs beside others. */
hu_kind hu_xla_op_kind(hu_str op, hu_str category, bool is_async);

/* Does an operation only hold others: a loop, a branch, a call? */
bool hu_xla_is_control(hu_str op, hu_str category);

#endif
