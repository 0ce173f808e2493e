/* SPDX-License-Identifier: Apache-2.0
 * source_line.h - "torch/nn/modules/module.py(1501): _call_impl": the file and line in the name of a Python frame. */
#ifndef HU_RENDER_EXPORT_SOURCE_LINE_H
#define HU_RENDER_EXPORT_SOURCE_LINE_H

#include <stdint.h>

#include "base/str.h"

typedef struct {
    hu_str  file;
    int64_t line;
} hu_source_line;

/* False, and *out untouched, when the name holds none. */
bool hu_source_line_of(hu_str name, hu_source_line *out);

#endif
