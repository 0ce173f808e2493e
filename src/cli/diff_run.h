/* SPDX-License-Identifier: Apache-2.0
 * diff_run.h - one of the two that `holdup diff` compares: its files, and what they are, by one look at each. */
#ifndef HU_CLI_DIFF_RUN_H
#define HU_CLI_DIFF_RUN_H

#include "job/inputs.h"

typedef struct {
    hu_inputs     inputs; /* empty where `error` says why there are none */
    hu_error      error;
    hu_input_kind kind; /* of one file; HU_INPUT_RANK of a directory or a pipe */
} hu_diff_run;

#endif
