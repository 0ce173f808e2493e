/* SPDX-License-Identifier: Apache-2.0
 * glob.h - names by pattern: * stands for any text, ? for any character. */
#ifndef HU_BASE_GLOB_H
#define HU_BASE_GLOB_H

#include <stdint.h>

#include "base/str.h"

/* Does the whole text match?  O(pattern * text) at worst, without memory. */
bool hu_glob_match(hu_str pattern, hu_str text);

#endif
