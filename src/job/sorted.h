/* SPDX-License-Identifier: Apache-2.0
 * sorted.h - inputs of one run by what they are: its ranks, and what was recorded beside them. */
#ifndef HU_JOB_SORTED_H
#define HU_JOB_SORTED_H

#include "ingest/step_log.h"
#include "job/inputs.h"
#include "job/glance.h"

/*
 * Each in the order in which they were named, execution traces among the traces if there are any; what could not be found is
 * in of[HU_INPUT_RANK].unread.
 */
typedef struct {
    hu_inputs  of[HU_INPUT_KINDS];
    hu_log_how logs; /* what the user says of lines of logs */
} hu_sorted_inputs;

/*
 * By the beginning of each regular file, which its name does not decide; of a text that nobody knows, by its lines.
 * `any_text`: such a text is a log, whatever is in it.  Lists live in `arena`.  Returns 0 or HU_ENOMEM.
 */
int hu_inputs_sort(const hu_inputs *inputs, bool any_text, hu_arena *arena, hu_sorted_inputs *out, hu_error *err);

/*
 * What was recorded of a run beside its traces, in a directory and below it: by their names and what they hold.  Other files
 * are counted in out->left.  out->n is 0 without.  Returns 0 or HU_ENOMEM.
 */
int hu_inputs_beside_of(const char *folder, hu_glances *glances, hu_arena *arena, hu_inputs *out, hu_error *err);

/*
 * Adds what lies beside the traces in those of `paths` that are directories, and what is left in them.  What is in the list
 * already is not added again.  Returns 0 or HU_ENOMEM.
 */
int hu_inputs_add_beside(char **paths, size_t n, hu_arena *arena, hu_inputs *inputs, hu_error *err);

#endif
