/* SPDX-License-Identifier: Apache-2.0
 * tell.h - starts, pauses or cancels the recording of another process of the same user. */
#ifndef HU_CLI_TELL_H
#define HU_CLI_TELL_H

#include "record/registry.h"

/* hu_control.command */
typedef enum { HU_TOLD_START = 1, HU_TOLD_STOP = 2, HU_TOLD_CANCEL = 3 } hu_told;

/* Tells one session, and waits until it has obeyed: five seconds at most.  Without a supervisor its gate is moved from here.
 * 0, HU_EIO, HU_EFORMAT. */
int hu_tell_session(const hu_registry_entry *e, hu_told command, hu_error *err);

#endif
