/* SPDX-License-Identifier: Apache-2.0
 * left.h - what lies in a directory that was named and is in no number, in words. */
#ifndef HU_RENDER_LEFT_H
#define HU_RENDER_LEFT_H

#include "job/inputs.h"

enum { HU_LEFT_TEXT = 4096 };

/* "2 other files of the directory: a.txt, b.json. …"; "" where there is none. */
void hu_left_say(const hu_left *left, char out[HU_LEFT_TEXT]);

#endif
