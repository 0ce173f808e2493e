/* SPDX-License-Identifier: Apache-2.0
 * mount_word.h - a word of /proc/PID/mountinfo, in which blanks and the like are octal (proc(5)). */
#ifndef HU_BASE_MOUNT_WORD_H
#define HU_BASE_MOUNT_WORD_H

#include "base/str.h"

/* "a\040b" as "a b", with a NUL behind it.  False: it does not fit into `room` bytes. */
bool hu_mount_word(hu_str word, char *out, size_t room);

#endif
