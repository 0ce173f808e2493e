/* SPDX-License-Identifier: Apache-2.0
 * text.h - the text that a monitor serves (Prometheus 0.0.4) into a look. */
#ifndef HU_TOP_TEXT_H
#define HU_TOP_TEXT_H

#include "base/str.h"
#include "top/look.h"

/*
 * Takes all series that a look knows and leaves out the others.  False: the text is none of this format, with the number of
 * the line that is wrong in *line; what stood before it was taken.  `text` must end with a line.
 */
bool hu_top_text_take(hu_top_look *l, hu_str text, size_t *line);

#endif
