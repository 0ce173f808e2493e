/* SPDX-License-Identifier: Apache-2.0
 * arm.h - makes a session of what the command line asks for, before anything is started in it. */
#ifndef HU_CLI_ARM_H
#define HU_CLI_ARM_H

#include "cli/run_options.h"
#include "record/facts.h"

/*
 * Makes the directory, fills its control page and writes the facts; `argv` is the command, or NULL.  Recording has begun
 * unless it was asked for later.  Notes for the user go to stderr unless o->quiet.  HU_EUSAGE, HU_EIO.
 */
int hu_arm(const hu_run_options *o, char *const *argv, hu_session *out, hu_facts *facts, hu_error *err);

#endif
