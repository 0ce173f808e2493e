/* SPDX-License-Identifier: Apache-2.0
 * viztracer.h - what VizTracer calls Python's functions. */
#ifndef HU_INGEST_VIZTRACER_H
#define HU_INGEST_VIZTRACER_H

#include "base/str.h"

enum { HU_VIZTRACER_NAME_BYTES = 512 };

/* A function of Python, "step (/a/train.py:12)", as torch.profiler writes it: "/a/train.py(12): step", by which waits and
   loaders are known.  0: it is none, or too long; else the length of what stands in `out`. */
size_t hu_viztracer_python_name(hu_str name, char out[HU_VIZTRACER_NAME_BYTES]);

#endif
