/* SPDX-License-Identifier: Apache-2.0
 * standard_input.h - what is piped to a command that reads files by what they hold, and some of them twice. */
#ifndef HU_CLI_STANDARD_INPUT_H
#define HU_CLI_STANDARD_INPUT_H

#include "base/limits.h"
#include "job/inputs.h"

/*
 * Where "-" is one of the inputs and a pipe holds no trace, standard input becomes a file without a name ($TMPDIR), which
 * can be read again.  A trace, which is read once, stays a stream.  Returns 0, HU_EIO or HU_ENOMEM.
 */
int hu_standard_input_prepare(const hu_inputs *inputs, const hu_limits *limits, hu_error *err);

#endif
