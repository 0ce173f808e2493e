/* SPDX-License-Identifier: Apache-2.0
 * outputs.h - what a command writes to: a file, which must not be one that is read, or standard output. */
#ifndef HU_CLI_OUTPUTS_H
#define HU_CLI_OUTPUTS_H

#include "base/out.h"
#include "job/crew.h"
#include "job/inputs.h"

/* A file that the command line asks for. */
typedef struct {
    const char *option; /* that named it, without dashes */
    const char *path;   /* NULL: not asked for */
} hu_output;

/*
 * For every command that writes files, before it reads: none of `outputs` may be one of `inputs` (standard input, where
 * that is a file, among them), the file `words` of a query or of limits (NULL: there is none), or another output.  Files
 * are compared by device and inode, so links and other spellings of a path do not deceive it.  Returns 0, or HU_EUSAGE
 * with the file and the option.
 */
int hu_outputs_check(const hu_output *outputs, size_t n, const hu_inputs *inputs, const char *words, hu_error *err);

/* The same on process 0 of a crew, which writes; when an output would overwrite an input there, all processes end. */
int hu_spread_outputs(hu_crew *crew, const hu_output *outputs, size_t n, const hu_inputs *inputs, hu_error *err);

/* What --output names: a file, which is there once it is closed without error; NULL: standard output.  NULL on failure. */
hu_out *hu_output_open(const char *path, hu_error *err);

/* The same with another descriptor in place of standard output. */
hu_out *hu_output_open_or(const char *path, int fd, hu_error *err);

#endif
