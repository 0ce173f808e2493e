/* SPDX-License-Identifier: Apache-2.0
 * nsys_export.h - reports of Nsight Systems are exported by its own nsys where that is installed. */
#ifndef HU_CLI_NSYS_EXPORT_H
#define HU_CLI_NSYS_EXPORT_H

#include "job/inputs.h"

typedef struct {
    char folder[64]; /* of temporary files; "": none was made */
} hu_nsys_exports;

/*
 * Each .nsys-rep of the inputs that nsys can export (`nsys export --type sqlite`) is replaced by that, under the same file
 * name in a folder of temporary files.  What it cannot is said, and stays: reading it names the way out.  Without nsys on
 * the PATH nothing happens.  Paths live in `arena`.
 */
void hu_nsys_export_inputs(hu_inputs *inputs, bool is_quiet, hu_arena *arena, hu_nsys_exports *out);

void hu_nsys_exports_remove(hu_nsys_exports *exports);

#endif
